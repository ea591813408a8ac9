-- Claim: with use_remote_estimate rows, width and cost are the shard's own, for
-- tables, joins, groups, sorted and limited queries and lookups by parameter;
-- the options fdw_startup_cost and fdw_tuple_cost come on top.  Each partition
-- is asked once.
\set VERBOSITY terse
CREATE TABLE s0.es (k int PRIMARY KEY, g int, v text);
CREATE TABLE s1.es (LIKE s0.es INCLUDING ALL);
INSERT INTO s0.es SELECT i, i % 4, repeat('x', 20) FROM generate_series(1, 1000) i;
INSERT INTO s1.es SELECT i, i % 4, repeat('x', 20) FROM generate_series(1001, 4000) i;
ANALYZE s0.es, s1.es;
CREATE TABLE es (g int, v text, k int) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE es0 PARTITION OF es FOR VALUES FROM (1) TO (1001)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'es', use_remote_estimate 'true');
-- other names and another order of columns than the parent's
CREATE FOREIGN TABLE es1 (key int OPTIONS (column_name 'k'), w text OPTIONS (column_name 'v'), g int)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'es', use_remote_estimate 'true');
ALTER TABLE es1 RENAME key TO k;
ALTER TABLE es1 RENAME w TO v;
ALTER TABLE es ATTACH PARTITION es1 FOR VALUES FROM (1001) TO (4001);
-- the nodes of a plan that are scans of shards: rows, width, and what the costs
-- are above those of the shard's own plan of its query
CREATE FUNCTION es_scans(statement text) RETURNS TABLE (rows int, width int, above numeric)
LANGUAGE plpgsql AS $$
DECLARE
  plan json;
  own json;
  node json;
BEGIN
  EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || statement INTO plan;
  FOR node IN
    WITH RECURSIVE nodes (node) AS (
      SELECT plan -> 0 -> 'Plan'
      UNION ALL
      SELECT json_array_elements(nodes.node -> 'Plans') FROM nodes)
    SELECT nodes.node FROM nodes WHERE nodes.node ->> 'Node Type' = 'Foreign Scan'
  LOOP
    rows := node ->> 'Plan Rows';
    width := node ->> 'Plan Width';
    above := NULL;
    IF node ->> 'Remote SQL' NOT LIKE '%$1%' THEN
      EXECUTE 'EXPLAIN (FORMAT JSON) ' || (node ->> 'Remote SQL') INTO own;
      above := round((node ->> 'Total Cost')::numeric - (own -> 0 -> 'Plan' ->> 'Total Cost')::numeric, 1);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM es_scans('SELECT * FROM es');
SELECT * FROM es_scans('SELECT k FROM es WHERE g = 1');
SELECT * FROM es_scans('SELECT v FROM es WHERE k = 1500');
SELECT * FROM es_scans('SELECT v FROM es WHERE k < 500');
-- ORDER BY and LIMIT
SELECT rows, width FROM es_scans('SELECT k FROM es ORDER BY k LIMIT 10');
SELECT rows, width FROM es_scans('SELECT k FROM es WHERE g = 2 ORDER BY v');
-- groups and joins
SELECT rows, width FROM es_scans('SELECT g, count(*) FROM es GROUP BY g');
SELECT rows, width FROM es_scans('SELECT k, count(*) FROM es GROUP BY k');
SELECT rows, width FROM es_scans('SELECT a.v FROM es a JOIN es b USING (k) WHERE b.g = 1');
-- a stable expression is known when planning, a parameter is not
SELECT rows FROM es_scans('SELECT v FROM es0 WHERE g < extract(year FROM now())::int - 2000');
PREPARE es_p(int) AS SELECT v FROM es0 WHERE g = $1;
SET plan_cache_mode = force_generic_plan;
SELECT rows FROM es_scans('EXECUTE es_p(1)');
RESET plan_cache_mode;
DEALLOCATE es_p;
-- the inner side of a nested loop: the shard knows that it has an index
CREATE TABLE es_local (k int);
INSERT INTO es_local VALUES (7), (8);
ANALYZE es_local;
EXPLAIN (COSTS OFF) SELECT v FROM es_local JOIN es0 USING (k);
-- what a shard says of the query is raised
CREATE FOREIGN TABLE es_gone (k int) SERVER shard0
  OPTIONS (schema_name 's0', table_name 'gone', use_remote_estimate 'true');
EXPLAIN SELECT * FROM es_gone;
BEGIN;
SAVEPOINT s;
SELECT * FROM es_gone;
ROLLBACK TO s;
SELECT count(*) FROM es;
COMMIT;
-- of many partitions some are asked, and the others take the mean
CREATE TABLE es_many (k int, g int, v text) PARTITION BY RANGE (k);
DO $$
BEGIN
  FOR part IN 0 .. 299 LOOP
    EXECUTE format('CREATE VIEW s0.es_many%s AS SELECT * FROM s0.es', part);
    EXECUTE format('CREATE FOREIGN TABLE es_many%s PARTITION OF es_many FOR VALUES FROM (%s) TO (%s) SERVER shard0 '
      'OPTIONS (schema_name ''s0'', use_remote_estimate ''true'')', part, part, part + 1);
  END LOOP;
END $$;
SELECT statements AS before FROM shard_fdw.stat_shards WHERE server = 'shard0' \gset
SELECT count(*), min(rows), max(rows), min(width), max(width) FROM es_scans('SELECT v FROM es_many');
SELECT statements - :before BETWEEN 100 AND 130 AS asked_some FROM shard_fdw.stat_shards WHERE server = 'shard0';
DROP TABLE es_many;
DO $$
BEGIN
  FOR part IN 0 .. 299 LOOP
    EXECUTE format('DROP VIEW s0.es_many%s', part);
  END LOOP;
END $$;
-- the table's option prevails over the server's
ALTER SERVER shard0 OPTIONS (ADD use_remote_estimate 'true');
ALTER FOREIGN TABLE es_gone OPTIONS (SET use_remote_estimate 'false');
EXPLAIN (COSTS OFF) SELECT * FROM es_gone;
ALTER SERVER shard0 OPTIONS (DROP use_remote_estimate);
DROP TABLE es, es_local, s0.es, s1.es;
DROP FOREIGN TABLE es_gone;
DROP FUNCTION es_scans(text);
