-- Claim: a column may be declared here with another type than it has on the
-- shard, as long as the shard has an operator for what is asked: a constant
-- beside a column takes the column's type there.
\set VERBOSITY terse
CREATE TYPE s0.lt_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE s0.lt (k int, mood s0.lt_mood, code varchar(5), n numeric, d date, b bytea, a text[]);
INSERT INTO s0.lt VALUES (1, 'sad', 'a', 1.50, '2024-02-01', '\x00', '{x}'),
  (2, 'ok', 'b', 2.50, '2024-02-02', '\x5c', '{"y z","q\"\\"}'), (3, 'happy', 'it''s\', 3, '2024-02-03', '', NULL);
CREATE FOREIGN TABLE lt (k int, mood text, code text, n text, d date, b bytea, a text[])
  SERVER shard0 OPTIONS (schema_name 's0');
-- an enum as text
SELECT k FROM lt WHERE mood = 'ok';
SELECT k FROM lt WHERE 'ok' = mood;
SELECT k FROM lt WHERE mood <> 'ok' ORDER BY k;
SELECT k FROM lt WHERE mood IN ('ok', 'happy') ORDER BY k;
SELECT k FROM lt WHERE mood > 'ok';
UPDATE lt SET code = 'c' WHERE mood = 'sad' RETURNING k, mood, code;
-- where the shard has none the error is the shard's
SELECT k FROM lt WHERE mood LIKE 'o%';
SELECT k FROM lt WHERE mood = 'bad';
-- a number as text
SELECT k FROM lt WHERE n = '2.5';
-- constants of many forms go unharmed
SELECT k FROM lt WHERE code = 'it''s\';
SELECT k FROM lt WHERE code IN ('b', 'it''s\', NULL) ORDER BY k;
SELECT k FROM lt WHERE d = date '2024-02-02' OR d IN ('2024-02-03') ORDER BY k;
SET datestyle = 'German';
SELECT k FROM lt WHERE d = '02.02.2024';
RESET datestyle;
SELECT k FROM lt WHERE d - date '2024-01-31' > 2;
SELECT k FROM lt WHERE b = '\x5c';
SELECT k FROM lt WHERE a = ARRAY['y z', 'q"\'];
SELECT k FROM lt WHERE a @> '{x}';
SELECT k FROM lt WHERE code || 'x' = 'bx';
SELECT k FROM lt WHERE code COLLATE "C" = 'b';
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM lt WHERE mood = 'ok' AND 'x' <> code AND k = 1 AND d > '2024-01-01';
DROP FOREIGN TABLE lt;
DROP TABLE s0.lt;
DROP TYPE s0.lt_mood;
