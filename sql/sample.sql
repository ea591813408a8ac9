-- Claim: TABLESAMPLE of a table with partitions on shards is done there, alone,
-- in joins and below aggregates, and refused where that would be another sample.
\set VERBOSITY terse
CREATE TABLE sampled (k int, n int) PARTITION BY LIST (k);
CREATE TABLE s0.sampled (k int, n int);
CREATE TABLE s1.sampled (k int, n int);
CREATE FOREIGN TABLE sampled_0 PARTITION OF sampled FOR VALUES IN (0, 2) SERVER shard0 OPTIONS (schema_name 's0', table_name 'sampled');
CREATE FOREIGN TABLE sampled_1 PARTITION OF sampled FOR VALUES IN (1, 3) SERVER shard1 OPTIONS (schema_name 's1', table_name 'sampled');
INSERT INTO sampled SELECT i % 4, i FROM generate_series(1, 1000) i;
-- all or nothing, whatever is done with it
SELECT count(*), sum(n) FROM sampled TABLESAMPLE BERNOULLI (100);
SELECT count(*), sum(n) FROM sampled TABLESAMPLE SYSTEM (0);
SELECT * FROM sampled TABLESAMPLE SYSTEM (0);
SELECT * FROM sampled TABLESAMPLE BERNOULLI (0) WHERE k = 1;
SELECT n FROM sampled TABLESAMPLE BERNOULLI (100) WHERE k = 1 ORDER BY n LIMIT 2;
SELECT n FROM sampled TABLESAMPLE BERNOULLI (0) WHERE k = 1 FOR UPDATE;
SELECT count(*) FROM sampled a LEFT JOIN sampled b TABLESAMPLE SYSTEM (0) USING (k, n) WHERE b.k IS NULL;
SELECT count(*), count(b.n) FROM sampled a FULL JOIN (SELECT * FROM sampled TABLESAMPLE SYSTEM (0) WHERE n > 5) b ON a.k = b.k;
SELECT count(*) FROM sampled a WHERE EXISTS (SELECT FROM sampled b TABLESAMPLE SYSTEM (0) WHERE a.k = b.k);
CREATE TEMP TABLE taken AS SELECT * FROM sampled TABLESAMPLE SYSTEM (0);
SELECT count(*) FROM taken;
UPDATE sampled SET n = 0 FROM (SELECT * FROM sampled TABLESAMPLE SYSTEM (0)) s WHERE s.n = sampled.n;
-- in between; the same again where that is asked for
SELECT count(*) BETWEEN 1 AND 999 AS some FROM sampled TABLESAMPLE BERNOULLI (50);
CREATE TEMP TABLE half AS SELECT * FROM sampled TABLESAMPLE BERNOULLI (50) REPEATABLE (5);
SELECT count(*) BETWEEN 1 AND 999 AS some FROM half;
SELECT * FROM half EXCEPT ALL SELECT * FROM sampled TABLESAMPLE BERNOULLI (50) REPEATABLE (5);
SELECT count(*) = (SELECT count(*) FROM half) AS same FROM sampled TABLESAMPLE BERNOULLI (50) REPEATABLE (5);
-- what is sent, and parameters
EXPLAIN (VERBOSE, COSTS OFF) SELECT n FROM sampled TABLESAMPLE SYSTEM (12.5) WHERE k = 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM sampled TABLESAMPLE BERNOULLI (50) REPEATABLE (5) WHERE k = 1;
SET plan_cache_mode = force_generic_plan;
PREPARE sample(float4, float8) AS SELECT count(*) FROM sampled TABLESAMPLE BERNOULLI ($1) REPEATABLE ($2);
EXECUTE sample(0, 1);
EXECUTE sample(100, 1);
EXECUTE sample(101, 1);
EXECUTE sample(NULL, 1);
EXECUTE sample(100, NULL);
DEALLOCATE sample;
RESET plan_cache_mode;
SELECT p, (SELECT count(*) FROM sampled TABLESAMPLE BERNOULLI (p)) FROM (VALUES (0), (100)) v(p);
-- a sample is not looked up row by row
CREATE FUNCTION test.sent(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
    IF line ~ 'Remote SQL' THEN
      RETURN NEXT trim(line);
    END IF;
  END LOOP;
END $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT line ~ '\$1' AS is_looked_up FROM test.sent('SELECT * FROM (SELECT 1 AS one OFFSET 0) v JOIN sampled ON n = one WHERE k = 1') line;
SELECT line ~ '\$1' AS is_looked_up FROM test.sent('SELECT * FROM (SELECT 1 AS one OFFSET 0) v JOIN sampled TABLESAMPLE BERNOULLI (50) ON n = one WHERE k = 1') line;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- estimates are those of the sample
ANALYZE sampled;
CREATE FUNCTION test.estimated(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  RETURN plan #> '{0,Plan,Plan Rows}';
END $$;
SELECT test.estimated('SELECT * FROM sampled'), test.estimated('SELECT * FROM sampled TABLESAMPLE BERNOULLI (10)');
-- refused
SELECT * FROM sampled TABLESAMPLE BERNOULLI (100 * random());
SELECT s.n FROM (VALUES (0), (100)) v(p), LATERAL (SELECT n FROM sampled TABLESAMPLE BERNOULLI (p)) s;
DROP FUNCTION test.estimated, test.sent;
DROP TABLE sampled, s0.sampled, s1.sampled, taken, half;
