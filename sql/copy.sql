-- Claim: COPY FROM into a sharded table puts every row where it belongs or puts
-- none anywhere, and COPY TO reads what is there.
\set VERBOSITY terse
CREATE TABLE s0.cp (k int PRIMARY KEY, v text CHECK (v <> 'bad'));
CREATE TABLE s1.cp (LIKE s0.cp INCLUDING ALL);
CREATE TABLE cp (k int, v text) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE cp0 PARTITION OF cp FOR VALUES FROM (0) TO (100)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'cp');
CREATE FOREIGN TABLE cp1 PARTITION OF cp FOR VALUES FROM (100) TO (200)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'cp');
CREATE TABLE cp_local PARTITION OF cp FOR VALUES FROM (200) TO (300);
CREATE FUNCTION cp_state() RETURNS text LANGUAGE sql AS $$
  SELECT format('s0 %s, s1 %s, local %s', (SELECT count(*) FROM s0.cp),
    (SELECT count(*) FROM s1.cp), (SELECT count(*) FROM cp_local)) $$;
-- through the parent
COPY cp FROM STDIN WITH (FORMAT csv, NULL 'nil');
1,one
101,"a,b"
201,local
2,nil
102,"q""q"
3,
\.
SELECT cp_state();
SELECT * FROM cp ORDER BY k;
-- straight into a partition, other column order, special characters
COPY cp0 (v, k) FROM STDIN;
swapped	4
\\N is not NULL	5
\N	6
tab\there	7
\.
SELECT * FROM s0.cp WHERE k > 3 ORDER BY k;
-- with a condition
COPY cp FROM STDIN WITH (FORMAT csv) WHERE k <> 109;
108,kept
109,not kept
\.
SELECT cp_state();
-- a row that the partition does not take
COPY cp0 FROM STDIN WITH (FORMAT csv);
8,x
150,wrong shard
\.
-- failures keep nothing: the shard's check, the shard's unique key, bad input,
-- no partition
COPY cp FROM STDIN WITH (FORMAT csv);
10,x
110,x
210,x
111,bad
\.
COPY cp FROM STDIN WITH (FORMAT csv);
10,x
110,x
1,again
\.
COPY cp FROM STDIN WITH (FORMAT csv);
10,x
110,x
eleven,x
\.
COPY cp FROM STDIN WITH (FORMAT csv);
10,x
110,x
999,x
\.
SELECT cp_state();
-- in a transaction with a savepoint
BEGIN;
INSERT INTO cp VALUES (20, 'kept'), (120, 'kept');
SAVEPOINT s;
COPY cp FROM STDIN WITH (FORMAT csv);
21,x
121,x
120,again
\.
ROLLBACK TO s;
COPY cp FROM STDIN WITH (FORMAT csv);
22,kept
122,kept
\.
COMMIT;
SELECT cp_state();
SELECT k FROM cp WHERE v = 'kept' ORDER BY k;
-- COPY TO
COPY (SELECT * FROM cp WHERE k < 8 ORDER BY k) TO STDOUT;
COPY cp0 TO STDOUT;
-- many rows
TRUNCATE cp;
INSERT INTO cp SELECT i, 'row ' || i FROM generate_series(0, 299) i;
SELECT cp_state();
-- defaults and generated columns of the partition
CREATE TABLE s0.cp_gen (k int, a int, g int GENERATED ALWAYS AS (a + 1) STORED, t text);
CREATE FOREIGN TABLE cp_gen (k int, a int, g int GENERATED ALWAYS AS (a + 1) STORED, t text DEFAULT 'filled in')
  SERVER shard0 OPTIONS (schema_name 's0');
COPY cp_gen (k, a) FROM STDIN WITH (FORMAT csv);
1,10
2,20
\.
SELECT * FROM s0.cp_gen ORDER BY k;
SELECT test.settled();
DROP FUNCTION cp_state();
DROP FOREIGN TABLE cp_gen;
DROP TABLE cp, s0.cp, s1.cp, s0.cp_gen;
