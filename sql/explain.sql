-- Claim: EXPLAIN shows the statement that is sent to each shard, what the shard
-- evaluates and what is left to the coordinator, the way a query runs, and with
-- ANALYZE what travelled.
\set VERBOSITY terse
CREATE TABLE s0.ex (k int PRIMARY KEY, v text, n numeric);
CREATE TABLE s1.ex (LIKE s0.ex INCLUDING ALL);
CREATE TABLE ex (k int, v text, n numeric) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE ex0 PARTITION OF ex FOR VALUES FROM (0) TO (100)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'ex');
CREATE FOREIGN TABLE ex1 PARTITION OF ex FOR VALUES FROM (100) TO (200)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'ex');
INSERT INTO ex SELECT i, 'v' || i, i FROM generate_series(0, 199) i;
-- only the columns that are needed
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM ex0;
EXPLAIN (VERBOSE, COSTS OFF) SELECT v FROM ex0;
EXPLAIN (VERBOSE, COSTS OFF) SELECT FROM ex0;
EXPLAIN (VERBOSE, COSTS OFF) SELECT v FROM ex0 WHERE n > 5;
-- one shard with the key, all without
EXPLAIN (COSTS OFF) SELECT v FROM ex WHERE k = 5;
EXPLAIN (COSTS OFF) SELECT v FROM ex WHERE k IN (5, 105);
EXPLAIN (COSTS OFF) SELECT v FROM ex WHERE v = 'v5';
CREATE FUNCTION foreign_scans(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || statement INTO plan;
  RETURN regexp_count(plan::text, '"Foreign Scan"');
END $$;
SELECT foreign_scans('SELECT v FROM ex WHERE k = 500');
DROP FUNCTION foreign_scans(text);
-- conditions that the shard evaluates
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM ex0
  WHERE k BETWEEN 1 AND 9 AND v LIKE 'v%' AND n IS NOT NULL AND k = ANY ('{1,2}')
    AND (k, n) > (1, 2) AND CASE v WHEN 'a' THEN k > 1 ELSE k > 2 END
    AND coalesce(v, 'x') <> 'y' AND v || 'z' <> 'w' AND upper(v) = 'V1' AND v COLLATE "C" > 'a';
-- and those that it does not: volatile, stable, or of this database only
CREATE FUNCTION ex_own(int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 0';
CREATE FUNCTION ex_plpgsql(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 > 0; END';
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM ex0 WHERE ex_plpgsql(k) AND n > 5;
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM ex0 WHERE ex_own(k);
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM ex0 WHERE random() > 0.5 AND k > 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM ex0 WHERE to_char(n, '9') = v;
-- stable but the same in every session: sent as a parameter
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM ex0 WHERE n < extract(epoch FROM now());
-- sorted by the coordinator
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM ex ORDER BY k DESC;
-- parameters
PREPARE ex_p(int, text) AS SELECT v FROM ex WHERE k = $1 AND v <> $2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE ex_p(5, 'x');
RESET plan_cache_mode;
DEALLOCATE ex_p;
-- locks
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM ex0 WHERE k = 1 FOR UPDATE;
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM ex0 WHERE k = 1 FOR SHARE NOWAIT;
EXPLAIN (VERBOSE, COSTS OFF) SELECT k FROM ex0 WHERE k = 1 FOR UPDATE SKIP LOCKED;
-- changes in one statement on the shard
EXPLAIN (VERBOSE, COSTS OFF) UPDATE ex SET v = v || '!' WHERE k = 1;
EXPLAIN (VERBOSE, COSTS OFF) UPDATE ex0 SET n = n + 1, v = NULL WHERE n > 5 RETURNING k, n;
EXPLAIN (VERBOSE, COSTS OFF) DELETE FROM ex WHERE n < 0;
-- and those by row
EXPLAIN (VERBOSE, COSTS OFF) UPDATE ex0 SET v = 'x' WHERE test.here(k = 1) RETURNING k;
EXPLAIN (VERBOSE, COSTS OFF) DELETE FROM ex0 WHERE test.here(k = 1);
-- inserts
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO ex0 VALUES (1, 'x', 1);
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO ex0 (v, k) VALUES ('x', 1) ON CONFLICT DO NOTHING;
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO ex0 SELECT k, v FROM ex1 RETURNING k;
-- how it ran and what travelled (versions differ in how they write row counts)
CREATE FUNCTION ex_analyze(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || statement LOOP
    RETURN NEXT regexp_replace(line, 'rows=(\d+)\.00', 'rows=\1');
  END LOOP;
END $$;
SELECT ex_analyze('SELECT * FROM ex0 WHERE k = 1');
SELECT ex_analyze('SELECT k FROM ex WHERE n >= 50');
SELECT ex_analyze('SELECT k FROM ex0 WHERE k = 1 UNION ALL SELECT k FROM ex0 WHERE k = 2');
SELECT ex_analyze('DELETE FROM ex WHERE k = 1');
BEGIN;
SELECT ex_analyze('SELECT k FROM ex WHERE k < 10');
DECLARE c CURSOR FOR SELECT k FROM ex0;
FETCH 1 FROM c;
COMMIT;
-- rows that had to wait on disk, while a function used the connection
CREATE FUNCTION ex_other() RETURNS bigint LANGUAGE plpgsql VOLATILE AS
  'BEGIN RETURN (SELECT count(*) FROM ex0 WHERE k = 1); END';
CREATE VIEW s0.ex_wide AS SELECT i AS k, repeat('x', 1000) AS v FROM generate_series(1, 2000) i;
CREATE FOREIGN TABLE ex_wide (k int, v text) SERVER shard0 OPTIONS (schema_name 's0');
SET work_mem = '64kB';
SELECT regexp_replace(line, 'spooled=\d+', 'spooled=N') AS ex_analyze
  FROM ex_analyze('SELECT CASE WHEN k = 1 THEN ex_other() END, v FROM ex_wide') line;
RESET work_mem;
DROP FOREIGN TABLE ex_wide;
DROP VIEW s0.ex_wide;
DROP FUNCTION ex_other();
-- EXPLAIN without ANALYZE sends nothing to a shard, not even when it is down
CREATE SERVER ex_down FOREIGN DATA WRAPPER shard_fdw OPTIONS (host '127.0.0.1', port '1', dbname 'x');
CREATE USER MAPPING FOR CURRENT_USER SERVER ex_down;
CREATE FOREIGN TABLE ex_down (k int) SERVER ex_down;
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM ex_down WHERE k = 1;
EXPLAIN (VERBOSE, COSTS OFF) DELETE FROM ex_down WHERE k = 1;
-- other formats are well formed
CREATE FUNCTION ex_json() RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) SELECT k FROM ex0 WHERE k = 2' INTO plan;
  RETURN plan;
END $$;
SELECT ex_json() -> 0 -> 'Plan' ->> 'Remote SQL' AS remote_sql;
DROP SERVER ex_down CASCADE;
DROP TABLE ex, s0.ex, s1.ex;
DROP FUNCTION ex_own(int), ex_plpgsql(int), ex_json(), ex_analyze(text);
