-- Claim: INSERT, UPDATE, DELETE and TRUNCATE through foreign tables change what
-- they would change in a local table, whether the shard does it in one
-- statement or the rows travel; counts and RETURNING are right.
\set VERBOSITY terse
CREATE TABLE s0.md (k int PRIMARY KEY, v text CHECK (v <> 'bad'), n int);
CREATE TABLE s1.md (LIKE s0.md INCLUDING ALL);
CREATE TABLE md (k int, v text, n int) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE md0 PARTITION OF md FOR VALUES FROM (0) TO (100)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'md');
CREATE FOREIGN TABLE md1 PARTITION OF md FOR VALUES FROM (100) TO (200)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'md');
CREATE TABLE md_local PARTITION OF md FOR VALUES FROM (200) TO (300);
-- rows go to their shard
INSERT INTO md VALUES (1, 'one', 1), (101, 'one hundred and one', 1), (201, 'local', 1);
\echo :ROW_COUNT
INSERT INTO md (k) VALUES (2), (102) RETURNING tableoid::regclass, *;
INSERT INTO md SELECT i, 'bulk', i FROM generate_series(10, 250) i WHERE i NOT IN (101, 102, 201);
\echo :ROW_COUNT
SELECT (SELECT count(*) FROM s0.md) AS s0, (SELECT count(*) FROM s1.md) AS s1,
  (SELECT count(*) FROM md_local) AS local, (SELECT count(*) FROM md) AS all;
INSERT INTO md VALUES (300, 'nowhere', 0);
-- and not to another one, straight into the partition, or after a trigger
INSERT INTO md0 VALUES (150, 'elsewhere', 0) RETURNING k;
INSERT INTO md0 SELECT i, 'elsewhere', i FROM generate_series(300, 310) i;
INSERT INTO md0 VALUES (2, 'there', 0), (150, 'elsewhere', 0) ON CONFLICT DO NOTHING;
CREATE FUNCTION md_elsewhere() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.k := NEW.k + 100; RETURN NEW; END $$;
CREATE TRIGGER elsewhere BEFORE INSERT ON md0 FOR EACH ROW EXECUTE FUNCTION md_elsewhere();
INSERT INTO md VALUES (3, 'elsewhere', 0);
DROP TRIGGER elsewhere ON md0;
-- one statement on the shard
UPDATE md SET n = n + 1000 WHERE k BETWEEN 95 AND 104;
\echo :ROW_COUNT
WITH r AS (UPDATE md SET v = upper(v), n = -k WHERE k IN (1, 101) RETURNING tableoid::regclass, *)
  SELECT * FROM r ORDER BY k;
UPDATE md SET v = 'x' WHERE k = 55 AND false;
\echo :ROW_COUNT
DELETE FROM md WHERE k BETWEEN 97 AND 102;
\echo :ROW_COUNT
WITH r AS (DELETE FROM md WHERE k IN (103, 95) RETURNING k, n)
  SELECT * FROM r ORDER BY k;
SELECT k, n FROM md WHERE n > 900 OR n < 0 ORDER BY k;
-- row by row: a condition or value only the coordinator can evaluate
CREATE FUNCTION md_value(text, int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
  BEGIN RETURN $1 || '/' || $2; END $$;
UPDATE md SET v = md_value(v, n) WHERE k IN (20, 120, 220);
\echo :ROW_COUNT
WITH r AS (UPDATE md SET n = 0 WHERE test.here(k IN (21, 121, 221)) RETURNING k, v, n)
  SELECT * FROM r ORDER BY k;
DELETE FROM md WHERE test.here(k IN (22, 122, 222));
\echo :ROW_COUNT
WITH r AS (DELETE FROM md WHERE k > 100 AND test.here(k IN (23, 123, 223)) RETURNING tableoid::regclass, k)
  SELECT * FROM r ORDER BY k;
SELECT * FROM md WHERE k IN (20, 21, 22, 23, 120, 121, 122, 123, 220, 221, 222) ORDER BY k;
-- many rows by row
UPDATE md SET n = n + 1 WHERE test.here(true) AND k < 95;
\echo :ROW_COUNT
SELECT count(*), sum(n) FROM md0;
-- with other tables
CREATE TABLE md_new (k int, v text);
INSERT INTO md_new VALUES (30, 'thirty'), (130, 'one hundred and thirty'), (230, 'local');
WITH r AS (UPDATE md SET v = md_new.v FROM md_new WHERE md.k = md_new.k RETURNING md.k, md.v, md_new.v AS new_v)
  SELECT * FROM r ORDER BY k;
WITH r AS (DELETE FROM md USING md_new WHERE md.k = md_new.k + 1 RETURNING md.k)
  SELECT * FROM r ORDER BY k;
UPDATE md SET n = (SELECT count(*) FROM md_new) WHERE k IN (32, 132);
UPDATE md0 SET v = md1.v FROM md1 WHERE md1.k = md0.k + 100 AND md0.k = 33 RETURNING md0.k, md0.v;
WITH r AS (DELETE FROM md WHERE k IN (SELECT k + 4 FROM md_new) RETURNING k)
  SELECT * FROM r ORDER BY k;
SELECT * FROM md WHERE k IN (32, 132) ORDER BY k;
-- in WITH
WITH gone AS (DELETE FROM md WHERE k = 40 RETURNING *)
  INSERT INTO md SELECT k + 55, v, n FROM gone RETURNING tableoid::regclass, k, v;
WITH u AS (UPDATE md SET n = -1 WHERE k IN (41, 141) RETURNING k) SELECT count(*) FROM md, u WHERE md.k = u.k;
SELECT k, n FROM md WHERE n = -1 ORDER BY k;
-- conflicts
INSERT INTO md VALUES (41, 'again', 0);
INSERT INTO md0 VALUES (41, 'again', 0), (5, 'new', 0) ON CONFLICT DO NOTHING;
\echo :ROW_COUNT
INSERT INTO md0 VALUES (41, 'again', 0), (6, 'new', 0) ON CONFLICT DO NOTHING RETURNING k;
INSERT INTO md0 VALUES (41, 'again', 0) ON CONFLICT (k) DO UPDATE SET v = 'upsert';
-- the shard's constraints
INSERT INTO md VALUES (7, 'bad', 0);
UPDATE md SET v = 'bad' WHERE k = 110;
UPDATE md SET v = 'b' || 'ad' WHERE test.here(k = 110);
SELECT test.sqlstate('INSERT INTO md VALUES (7, ''bad'', 0)') AS check_violation,
  test.sqlstate('INSERT INTO md VALUES (41, ''again'', 0)') AS unique_violation;
-- the key, see also move.sql
UPDATE md SET k = 8 WHERE k = 5 RETURNING tableoid::regclass, k;
UPDATE md SET k = 9 WHERE k = 250 RETURNING tableoid::regclass, k;
SELECT k FROM md0 WHERE k IN (8, 9) ORDER BY k;
-- defaults and generated columns
CREATE TABLE s0.md_gen (id int GENERATED BY DEFAULT AS IDENTITY, a int, g int GENERATED ALWAYS AS (a * 2) STORED,
  t text DEFAULT 'the shard''s');
CREATE SEQUENCE md_seq START 100;
CREATE FOREIGN TABLE md_gen (id int DEFAULT nextval('md_seq'), a int, g int GENERATED ALWAYS AS (a * 2) STORED,
  t text DEFAULT 'the coordinator''s') SERVER shard0 OPTIONS (schema_name 's0');
INSERT INTO md_gen (a) VALUES (1), (2) RETURNING *;
INSERT INTO md_gen VALUES (1, 3, DEFAULT, NULL) RETURNING *;
INSERT INTO md_gen (a, g) VALUES (1, 1);
UPDATE md_gen SET a = a + 10 WHERE id = 100 RETURNING a, g;
UPDATE md_gen SET a = a + 10 WHERE test.here(id = 101) RETURNING a, g;
SELECT test.sqlstate('INSERT INTO md_gen (id) VALUES (NULL)') AS not_null_violation;
-- (a foreign table without the columns leaves them to the shard)
CREATE FOREIGN TABLE md_gen_a (a int) SERVER shard0 OPTIONS (schema_name 's0', table_name 'md_gen');
INSERT INTO md_gen_a VALUES (50);
SELECT * FROM s0.md_gen ORDER BY a;
-- a remote table that is partitioned itself: addresses repeat, rows must not
CREATE TABLE s0.md_part (k int, v text) PARTITION BY LIST (k);
CREATE TABLE s0.md_part1 PARTITION OF s0.md_part FOR VALUES IN (1);
CREATE TABLE s0.md_part2 PARTITION OF s0.md_part FOR VALUES IN (2);
INSERT INTO s0.md_part VALUES (1, 'one'), (2, 'two');
CREATE FOREIGN TABLE md_part (k int, v text) SERVER shard0 OPTIONS (schema_name 's0');
SELECT count(DISTINCT ctid) AS addresses, count(*) AS rows FROM s0.md_part;
UPDATE md_part SET v = 'changed' WHERE test.here(k = 2) RETURNING *;
SELECT * FROM md_part ORDER BY k;
DELETE FROM md_part WHERE test.here(k = 1);
\echo :ROW_COUNT
SELECT * FROM md_part ORDER BY k;
-- a view with a check option, on top of the partitioned table
CREATE VIEW md_view AS SELECT * FROM md WHERE n >= 0 WITH CHECK OPTION;
INSERT INTO md_view VALUES (3, 'seen', 1), (103, 'seen', 1);
INSERT INTO md_view VALUES (4, 'not seen', -1);
UPDATE md_view SET n = -5 WHERE k = 103;
UPDATE md_view SET n = 5 WHERE k = 103 RETURNING k, n;
-- TRUNCATE of one, of several, of all
TRUNCATE md0;
SELECT tableoid::regclass, count(*) > 0 AS some FROM md GROUP BY 1 ORDER BY 1;
BEGIN;
TRUNCATE md;
SELECT count(*) FROM md;
ROLLBACK;
SELECT count(*) > 0 AS some FROM md1;
TRUNCATE md;
SELECT (SELECT count(*) FROM s0.md) + (SELECT count(*) FROM s1.md) + (SELECT count(*) FROM md_local) AS left;
-- (what is asked of a shard while others are not done; a failure of one; a loop)
CREATE TABLE s1.md_ref (k int REFERENCES s1.md);
INSERT INTO md VALUES (1, 'one', 1), (101, 'two', 2), (201, 'local', 3);
TRUNCATE md;
SELECT test.sqlstate('TRUNCATE md, md_new') AS has_foreign_key;
SELECT count(*) FROM md;
CREATE FUNCTION md_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '%: % rows', TG_OP, (SELECT count(*) FROM md);
  RETURN NULL;
EXCEPTION WHEN feature_not_supported THEN
  RAISE NOTICE 'swallowed';
  RETURN NULL;
END $$;
CREATE TRIGGER count_rows AFTER TRUNCATE ON md FOR EACH STATEMENT EXECUTE FUNCTION md_count();
TRUNCATE md;
SELECT count(*) FROM md;
TRUNCATE md CASCADE;
DROP TABLE s1.md_ref;
INSERT INTO md VALUES (1, 'one', 1), (101, 'two', 2);
DO $$ BEGIN
  FOR i IN 1..3 LOOP
    TRUNCATE md;
    INSERT INTO md VALUES (i, 'loop', 1), (100 + i, 'loop', 1);
  END LOOP;
END $$;
SELECT k, v FROM md ORDER BY k;
DROP TRIGGER count_rows ON md;
-- queries of a statement do not see what it has written, however many rows
TRUNCATE md;
INSERT INTO md SELECT i, 'old', i FROM generate_series(1, 290) i;
UPDATE md z SET v = (SELECT count(*) FROM md y WHERE y.v = 'old' AND y.n % 2 = z.n % 2);
\echo :ROW_COUNT
SELECT v, count(*) FROM md GROUP BY v;
UPDATE md SET v = 'old';
UPDATE md z SET v = 'new', n = (SELECT count(*) FROM md y
  WHERE y.k < 100 AND y.v = 'old' AND y.k % 2 = z.k % 2);
SELECT n, count(*) FROM md GROUP BY n ORDER BY n;
CREATE TABLE s0.md_self (a int, b text);
CREATE FOREIGN TABLE md_self (a int, b text) SERVER shard0 OPTIONS (schema_name 's0');
INSERT INTO md_self SELECT i FROM generate_series(1, 10) i;
INSERT INTO md_self SELECT c.n, repeat('x', 1000)
  FROM generate_series(1, 300) i, LATERAL (SELECT count(*) AS n FROM md_self m WHERE m.a > i) c;
\echo :ROW_COUNT
SELECT count(*), sum(a), sum(length(b)) FROM md_self;
CREATE TABLE md_seen (n int8);
WITH w AS (INSERT INTO md_seen SELECT count(*) FROM md_self)
  INSERT INTO md_self VALUES (1000);
SELECT count(*) - (SELECT n FROM md_seen) AS inserted FROM md_self;
DROP TABLE md_seen;
DELETE FROM md_self z WHERE (SELECT count(*) FROM md_self y WHERE y.a = z.a) > 1;
\echo :ROW_COUNT
SELECT a FROM md_self ORDER BY a;
SELECT test.settled();
DROP VIEW md_view;
DROP FOREIGN TABLE md_gen, md_gen_a, md_part, md_self;
DROP TABLE md, md_new, s0.md, s1.md, s0.md_gen, s0.md_part, s0.md_self;
DROP SEQUENCE md_seq;
DROP FUNCTION md_value(text, int), md_count(), md_elsewhere();
