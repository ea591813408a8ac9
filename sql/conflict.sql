-- Claim: INSERT ... ON CONFLICT with a conflict target does what it does in a
-- local table, although only the shards have the unique index: counts and
-- RETURNING are right, no row is written twice, and what cannot be done is an
-- error that says so.
\set VERBOSITY terse
CREATE TABLE s0.co (id int PRIMARY KEY, v text, n int DEFAULT 0, g int GENERATED ALWAYS AS (n * 2) STORED);
CREATE TABLE s1.co (LIKE s0.co INCLUDING ALL);
CREATE TABLE co (k int, v text, n int, g int GENERATED ALWAYS AS (n * 2) STORED) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE co0 PARTITION OF co FOR VALUES FROM (0) TO (10000)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'co');
-- (other columns in another order, with other names there)
CREATE FOREIGN TABLE co1 (gone int, v text, n int, k int OPTIONS (column_name 'id'), g int GENERATED ALWAYS AS (n * 2) STORED)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'co');
ALTER FOREIGN TABLE co1 DROP COLUMN gone;
ALTER TABLE co ATTACH PARTITION co1 FOR VALUES FROM (10000) TO (20000);
ALTER FOREIGN TABLE co0 ALTER k OPTIONS (ADD column_name 'id');
INSERT INTO co VALUES (1, 'a', 1), (10001, 'b', 1);
-- DO NOTHING
INSERT INTO co VALUES (1, 'x', 9), (2, 'new', 1), (10001, 'x', 9) ON CONFLICT (k) DO NOTHING;
\echo :ROW_COUNT
INSERT INTO co VALUES (1, 'x', 9), (3, 'new', 1), (10001, 'x', 9) ON CONFLICT (k) DO NOTHING RETURNING tableoid::regclass, *;
SELECT * FROM co ORDER BY k;
-- DO UPDATE: both rows in expressions, a condition, the number of rows
INSERT INTO co AS t VALUES (1, 'x', 10), (2, 'x', 10), (4, 'new', 5), (10001, 'y', 10)
  ON CONFLICT (k) DO UPDATE SET n = t.n + excluded.n, v = upper(excluded.v) || t.v WHERE t.v <> 'new';
\echo :ROW_COUNT
SELECT * FROM co ORDER BY k;
INSERT INTO co VALUES (1, 'x', 100), (5, 'new', 5), (10001, 'y', 100)
  ON CONFLICT (k) DO UPDATE SET n = excluded.n RETURNING tableoid::regclass, *;
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO co0 VALUES (1, 'x', 1) ON CONFLICT (k) DO UPDATE SET n = co0.n + excluded.n
  WHERE co0.n < 7 RETURNING v;
EXPLAIN (COSTS OFF) INSERT INTO co VALUES (1, 'x', 1) ON CONFLICT (k) DO UPDATE SET n = co.n + excluded.n;
-- a partition by its name; values that the coordinator computes; DEFAULT
INSERT INTO co0 VALUES (1, 'x', 7) ON CONFLICT (k) DO UPDATE SET n = excluded.n + (SELECT count(*) FROM s0.co WHERE v = 'new'),
  v = current_date::text;
SELECT k, n, v = current_date::text AS today FROM co WHERE k = 1;
INSERT INTO co VALUES (1, 'x', 7) ON CONFLICT (k) DO UPDATE SET (n, v) = (DEFAULT, 'multi');
INSERT INTO co VALUES (2, 'x', 7) ON CONFLICT (k) DO UPDATE SET (n, v) = (SELECT max(id), 'sub' FROM s1.co);
SELECT * FROM co WHERE k IN (1, 2) ORDER BY k;
-- prepared, with generic and custom plans; in functions; in WITH; from a query
PREPARE co_up(int, int) AS INSERT INTO co VALUES ($1, 'p', $2) ON CONFLICT (k) DO UPDATE SET n = co.n + $2, v = excluded.v;
SET plan_cache_mode = 'force_generic_plan';
EXECUTE co_up(20, 1);
EXECUTE co_up(20, 10);
EXECUTE co_up(10020, 5);
SET plan_cache_mode = 'force_custom_plan';
EXECUTE co_up(20, 100);
EXECUTE co_up(10020, 50);
RESET plan_cache_mode;
CREATE FUNCTION co_add(key int, more int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE result int;
BEGIN
  INSERT INTO co VALUES (key, 'f', more) ON CONFLICT (k) DO UPDATE SET n = co.n + excluded.n RETURNING n INTO result;
  RETURN result;
END $$;
SELECT co_add(20, 1000), co_add(10020, 1000), co_add(21, 1), co_add(21, 1);
CREATE FUNCTION co_sql(key int, more int) RETURNS SETOF int LANGUAGE sql AS $$
  INSERT INTO co VALUES (key, 'f', more) ON CONFLICT (k) DO UPDATE SET n = more + co.n RETURNING n $$;
SELECT co_sql(21, 10);
WITH w AS (INSERT INTO co VALUES (21, 'w', 1), (22, 'w', 1) ON CONFLICT (k) DO UPDATE SET v = 'cte' RETURNING k, v)
  SELECT * FROM w ORDER BY k;
WITH w AS (INSERT INTO co VALUES (23, 'w', 1) ON CONFLICT (k) DO NOTHING)
  INSERT INTO co VALUES (24, 'w', 1), (21, 'w', 1) ON CONFLICT (k) DO UPDATE SET v = 'main';
SELECT * FROM co WHERE k BETWEEN 20 AND 24 ORDER BY k;
-- many rows
TRUNCATE co;
INSERT INTO co SELECT i, 'old', 1 FROM generate_series(0, 19999, 4) i;
INSERT INTO co SELECT i, 'new', 2 FROM generate_series(0, 19999) i ON CONFLICT (k) DO UPDATE SET n = co.n + excluded.n
  WHERE co.k % 8 = 0;
\echo :ROW_COUNT
SELECT v, n, count(*) FROM co GROUP BY v, n ORDER BY v, n;
INSERT INTO co SELECT i, 'third', 0 FROM generate_series(19000, 20999) i WHERE i < 20000 ON CONFLICT (k) DO NOTHING;
\echo :ROW_COUNT
-- no row twice: in one statement, in two, with RETURNING; equal keys that look different
SELECT test.sqlstate('INSERT INTO co VALUES (1), (1) ON CONFLICT (k) DO UPDATE SET n = 1');
SELECT test.sqlstate('INSERT INTO co SELECT i % 5000 FROM generate_series(0, 5000) i ON CONFLICT (k) DO UPDATE SET n = 1');
SELECT test.sqlstate('INSERT INTO co SELECT 19999 - i % 5000 FROM generate_series(0, 5000) i ON CONFLICT (k) DO UPDATE SET n = 1');
SELECT test.sqlstate('INSERT INTO co VALUES (1), (2), (1) ON CONFLICT (k) DO UPDATE SET n = 1 RETURNING k');
SELECT test.sqlstate('INSERT INTO co SELECT i % 5000, 9 FROM generate_series(0, 5000) i ON CONFLICT (k) DO UPDATE SET n = 1 WHERE co.n > 1000');
SELECT count(*) FROM co WHERE n = 1 AND v <> 'old';
-- the key changes: no more than one statement, and no other partition
CREATE TABLE s0.co_key (a numeric UNIQUE, b text UNIQUE);
CREATE FOREIGN TABLE co_key (a numeric, b text) SERVER shard0 OPTIONS (schema_name 's0');
INSERT INTO co_key VALUES (1.0, 'one'), (2, 'two');
INSERT INTO co_key VALUES (1.00, 'uno') ON CONFLICT (a) DO UPDATE SET a = excluded.a, b = excluded.b;
INSERT INTO co_key VALUES (2.0, 'zwei') ON CONFLICT (a) DO UPDATE SET a = excluded.a + 10 RETURNING *;
SELECT * FROM co_key ORDER BY a;
INSERT INTO co_key SELECT i, i FROM generate_series(1, 5000) i ON CONFLICT (a) DO UPDATE SET a = co_key.a + 100000;
SELECT test.sqlstate('INSERT INTO co_key SELECT (i % 5000) * CASE WHEN i < 5000 THEN 1.0 ELSE 1.00 END, i FROM generate_series(0, 5000) i
  ON CONFLICT (a) DO UPDATE SET b = excluded.b');
INSERT INTO co VALUES (1) ON CONFLICT (k) DO UPDATE SET k = co.k + 1;
INSERT INTO co0 VALUES (1) ON CONFLICT (k) DO UPDATE SET k = co0.k + 1;
INSERT INTO co VALUES (1, 'key') ON CONFLICT (k) DO UPDATE SET k = excluded.k, v = excluded.v RETURNING k, v;
-- expressions and predicates in the target
CREATE UNIQUE INDEX ON s0.co_key (lower(b)) WHERE a > 0;
INSERT INTO co_key VALUES (3, 'UNO') ON CONFLICT (lower(b)) WHERE a > 0 DO UPDATE SET b = 'Uno';
SELECT * FROM co_key ORDER BY a;
-- no such index there, none here
\set VERBOSITY default
INSERT INTO co0 VALUES (1) ON CONFLICT (v) DO UPDATE SET n = 1;
INSERT INTO co VALUES (1) ON CONFLICT (n) DO NOTHING;
\set VERBOSITY terse
INSERT INTO co VALUES (1) ON CONFLICT DO UPDATE SET n = 1;
-- what the shard cannot evaluate
INSERT INTO co VALUES (1) ON CONFLICT (k) DO UPDATE SET n = random() * 10;
INSERT INTO co VALUES (1) ON CONFLICT (k) DO UPDATE SET n = (SELECT count(*) FROM s0.co s WHERE s.id = co.k);
INSERT INTO co VALUES (1) ON CONFLICT (k) DO UPDATE SET n = 1 WHERE test.here(true);
-- a local partition, triggers, row-level security
CREATE TABLE co_local PARTITION OF co FOR VALUES FROM (20000) TO (30000);
INSERT INTO co VALUES (1) ON CONFLICT (k) DO NOTHING;
INSERT INTO co VALUES (1), (20000) ON CONFLICT DO NOTHING;
\echo :ROW_COUNT
INSERT INTO co0 VALUES (1, 'direct') ON CONFLICT (k) DO UPDATE SET v = excluded.v RETURNING k, v;
DROP TABLE co_local;
CREATE FUNCTION co_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % %', TG_WHEN, TG_OP, TG_LEVEL;
  RETURN NEW;
END $$;
CREATE TRIGGER rows AFTER INSERT ON co0 FOR EACH ROW EXECUTE FUNCTION co_trigger();
INSERT INTO co VALUES (1, 'row') ON CONFLICT (k) DO UPDATE SET v = excluded.v;
INSERT INTO co VALUES (1, 'row') ON CONFLICT (k) DO NOTHING;
DROP TRIGGER rows ON co0;
CREATE TRIGGER before_row BEFORE INSERT ON co0 FOR EACH ROW EXECUTE FUNCTION co_trigger();
CREATE TRIGGER statement AFTER INSERT OR UPDATE ON co FOR EACH STATEMENT EXECUTE FUNCTION co_trigger();
INSERT INTO co VALUES (1, 'statement') ON CONFLICT (k) DO UPDATE SET v = excluded.v;
SELECT v FROM co WHERE k = 1;
DROP TRIGGER statement ON co;
DROP TRIGGER before_row ON co0;
CREATE VIEW co_view AS SELECT k, v FROM co;
INSERT INTO co_view VALUES (1, 'view') ON CONFLICT (k) DO UPDATE SET v = excluded.v RETURNING *;
-- with a condition: checked here, or, where core has the old row checked, refused
CREATE OR REPLACE VIEW co_view AS SELECT k, v FROM co WHERE v <> 'hidden' WITH CHECK OPTION;
DO $$ BEGIN
  INSERT INTO co_view VALUES (1, 'view') ON CONFLICT (k) DO UPDATE SET v = 'hidden';
EXCEPTION WHEN with_check_option_violation OR feature_not_supported THEN RAISE NOTICE 'refused';
END $$;
SELECT v FROM co WHERE k = 1;
CREATE ROLE co_user;
GRANT SELECT, INSERT ON co TO co_user;
SET ROLE co_user;
INSERT INTO co VALUES (1) ON CONFLICT (k) DO UPDATE SET v = 'stolen';
RESET ROLE;
GRANT UPDATE ON co TO co_user;
ALTER TABLE co ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON co USING (n > 0);
SET ROLE co_user;
INSERT INTO co VALUES (1) ON CONFLICT (k) DO UPDATE SET v = 'stolen';
RESET ROLE;
-- in a transaction, with a savepoint, over both shards
ALTER TABLE co DISABLE ROW LEVEL SECURITY;
BEGIN;
INSERT INTO co VALUES (50, 't', 1), (10050, 't', 1) ON CONFLICT (k) DO UPDATE SET v = 'committed';
SAVEPOINT s;
INSERT INTO co VALUES (50, 't', 1), (10050, 't', 1) ON CONFLICT (k) DO UPDATE SET v = 'undone';
ROLLBACK TO s;
COMMIT;
SELECT k, v FROM co WHERE k IN (50, 10050) ORDER BY k;
SELECT test.settled();
-- text put together from what has no collation of its own
INSERT INTO co VALUES (50, 't', 1) ON CONFLICT (k) DO UPDATE SET v = 'n' || co.n RETURNING v;
PREPARE joined(text) AS INSERT INTO co VALUES (50, 't', 1) ON CONFLICT (k) DO UPDATE SET v = left(repeat($1 || co.n, 2), 3) || length('x' || co.n) RETURNING v;
EXECUTE joined('p');
DEALLOCATE joined;
INSERT INTO co VALUES (50, 't', 1) ON CONFLICT (k) DO UPDATE SET v = upper('n' || co.n);
INSERT INTO co VALUES (50, 't', 1) ON CONFLICT (k) DO UPDATE SET v = greatest('n' || co.n, 'N');
-- constants and parameters take the type of the remote column
CREATE TYPE s0.co_mood AS ENUM ('sad', 'glad');
CREATE TABLE s0.co_feel (id int PRIMARY KEY, mood s0.co_mood, n int2);
CREATE FOREIGN TABLE co_feel (id int, mood text, n int2) SERVER shard0 OPTIONS (schema_name 's0', table_name 'co_feel');
INSERT INTO co_feel VALUES (1, 'sad', 1) ON CONFLICT (id) DO UPDATE SET mood = 'glad';
INSERT INTO co_feel VALUES (1, 'sad', 1), (2, 'sad', 2) ON CONFLICT (id) DO UPDATE SET mood = 'glad', n = 7 RETURNING *;
PREPARE feel(text) AS INSERT INTO co_feel VALUES (2, 'glad', 1) ON CONFLICT (id) DO UPDATE SET mood = $1, n = co_feel.n + 1 RETURNING *;
EXECUTE feel('glad');
EXECUTE feel(NULL);
DEALLOCATE feel;
INSERT INTO co_feel VALUES (2, 'sad', 1) ON CONFLICT (id) DO UPDATE SET mood = 'bad';
DROP FOREIGN TABLE co_feel;
DROP TABLE s0.co_feel;
DROP TYPE s0.co_mood;
DROP VIEW co_view;
DROP TABLE co, s0.co, s1.co, s0.co_key;
DROP FOREIGN TABLE co_key;
DROP FUNCTION co_add(int, int), co_sql(int, int), co_trigger();
DROP ROLE co_user;
