-- Claim: what a shard can compute is computed there, and where it must not be
-- it is not.  The tables are those of the script pushdown.
-- pushdown_plans_1.out is for 18, which prefers sorted partitions in one plan.
\set VERBOSITY terse
SET search_path = push_far, public;
-- groups on one server: HAVING, ORDER BY and LIMIT go along
EXPLAIN (VERBOSE, COSTS OFF) SELECT w, count(*), avg(n) FROM x WHERE a > 1 GROUP BY w HAVING count(*) > 2 ORDER BY 2 DESC, 1 LIMIT 3 OFFSET 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(DISTINCT a), string_agg(w, ',' ORDER BY b) FILTER (WHERE o) FROM x;
-- what cannot be checked there is checked here
EXPLAIN (VERBOSE, COSTS OFF) SELECT w, sum(a) FROM x GROUP BY w HAVING test.here(sum(a) > 3);
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM x WHERE test.here(a > 3);
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, k, count(*) FROM x GROUP BY ROLLUP (a, k);
EXPLAIN (VERBOSE, COSTS OFF) SELECT w, grouping(w), sum(n) FROM t WHERE k = 3 GROUP BY k, CUBE (w, o) HAVING grouping(o) = 1 ORDER BY w LIMIT 5;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, count(*) FROM t GROUP BY ROLLUP (a);
-- windows on one server, as well over groups
EXPLAIN (VERBOSE, COSTS OFF) SELECT b, lead(b) OVER (PARTITION BY w ORDER BY c DESC, b) + 1, sum(a) FILTER (WHERE o) OVER () FROM x;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, lag(count(*)) OVER (ORDER BY a NULLS FIRST ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM t WHERE k = 3 GROUP BY a ORDER BY a LIMIT 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT b, sum(a) OVER (ORDER BY b) FROM x ORDER BY 2 DESC LIMIT 2;
-- DISTINCT over them, and DISTINCT ON
EXPLAIN (VERBOSE, COSTS OFF) SELECT DISTINCT a, max(b) OVER (ORDER BY a) FROM x ORDER BY 2 LIMIT 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT DISTINCT ON (a) a, b FROM x ORDER BY a DESC, n, b LIMIT 3;
-- not where core leaves a condition to the window, the shard lacks something,
-- or the rows are on several
SELECT substring(line, 'Remote SQL.*') FROM unnest(ARRAY['SELECT * FROM (SELECT b, row_number() OVER (ORDER BY b) r FROM x) q WHERE r <= 2',
    'SELECT b, rank() OVER (ORDER BY test.here(o)) FROM x', 'SELECT b, rank() OVER (ORDER BY b) FROM t', 'SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b',
    'SELECT b, rank() OVER (ORDER BY w COLLATE "POSIX") FROM x']) query, test.push_plan(query) line WHERE line ~ 'Remote SQL';
-- aggregates in parts, on with default settings, which stay as they are
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT sum(a), sum(b), avg(a), avg(f), avg(n) FILTER (WHERE o), stddev(n), variance(a), bool_or(o), bit_and(a), max(c) FROM t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, count(*) FROM t GROUP BY a;
SHOW enable_partitionwise_aggregate;
-- ordered aggregates are not computed in parts
EXPLAIN (VERBOSE, COSTS OFF) SELECT array_agg(a ORDER BY a) FROM t;
-- complete groups where the key is among the columns
EXPLAIN (VERBOSE, COSTS OFF) SELECT k, count(*) FROM t GROUP BY k HAVING count(*) > 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT DISTINCT a FROM t;
-- groups cut off by LIMIT, if their order tells them apart
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, w, count(*) FROM t GROUP BY a, w ORDER BY w DESC, a LIMIT 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a, w, count(*) FROM t GROUP BY a, w ORDER BY w DESC LIMIT 3;
-- joins, by shard where the tables are partitioned alike
EXPLAIN (VERBOSE, COSTS OFF) SELECT t.b, u.b FROM t LEFT JOIN u ON t.k = u.k AND u.a = 3 WHERE t.a > 5;
EXPLAIN (VERBOSE, COSTS OFF) SELECT x.b, y.b FROM (SELECT * FROM x WHERE a > 1) x FULL JOIN (SELECT * FROM y WHERE a < 2) y ON x.k = y.k;
EXPLAIN (VERBOSE, COSTS OFF) SELECT b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.a = t.a);
EXPLAIN (VERBOSE, COSTS OFF) SELECT x.b FROM x LEFT JOIN y USING (k) WHERE y.k IS NULL;
EXPLAIN (VERBOSE, COSTS OFF) SELECT x.b FROM x LEFT JOIN y ON x.k = y.k AND test.here(x.a > y.a);
-- a VALUES list goes to the shard for a join there, if it means the same
EXPLAIN (VERBOSE, COSTS OFF) SELECT x.b, q FROM x LEFT JOIN (VALUES (3, 'x1'), (NULL, now()::text)) v(p, q) ON k = p AND w > q ORDER BY x.b LIMIT 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT b FROM t WHERE k = 3 AND EXISTS (SELECT 1 FROM (VALUES (1), (2)) v(p) WHERE p = a);
SELECT substring(line, 'Remote SQL.*') FROM unnest(ARRAY['SELECT x.b FROM x, (VALUES (random()), (1)) v(p) WHERE k > p', 'SELECT x.b, v FROM x, (VALUES (1), (2)) v(p) WHERE k = p',
    'SELECT x.b FROM x, (VALUES (''a'' COLLATE "POSIX"), (''b'')) v(p) WHERE w = p', 'SELECT t.b FROM t, (VALUES (1), (2)) v(p) WHERE w = p::text']) query, test.push_plan(query) line WHERE line ~ 'Remote SQL';
-- LIMIT for each shard, with the offset and in the order asked for
EXPLAIN (VERBOSE, COSTS OFF) SELECT b FROM t LIMIT 5;
EXPLAIN (VERBOSE, COSTS OFF) SELECT b FROM t ORDER BY c DESC NULLS LAST, b LIMIT 5 OFFSET 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT max(b), min(w) FROM t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT t.b FROM t JOIN u USING (k) ORDER BY t.b LIMIT 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a FROM t ORDER BY a DESC OFFSET 1 FETCH FIRST 3 ROWS WITH TIES;
-- no LIMIT where rows are dropped or multiplied here
EXPLAIN (VERBOSE, COSTS OFF) SELECT b FROM t WHERE test.here(a > 3) ORDER BY b LIMIT 4;
EXPLAIN (VERBOSE, COSTS OFF) SELECT t.b FROM t JOIN push_near.z USING (a) ORDER BY t.b LIMIT 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT b FROM t ORDER BY b LIMIT 3 FOR UPDATE;
-- no order that the shard may not have
EXPLAIN (VERBOSE, COSTS OFF) SELECT w FROM t ORDER BY w COLLATE "POSIX" LIMIT 3;
-- a query by key lives on its shard
EXPLAIN (VERBOSE, COSTS OFF) SELECT t.w, count(*) FROM t JOIN u USING (k) WHERE t.k = 3 GROUP BY t.w ORDER BY 2 DESC LIMIT 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT b FROM t WHERE k = 3 ORDER BY b LIMIT 2 OFFSET 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a FROM t WHERE k = 3 ORDER BY b LIMIT 2 FOR UPDATE SKIP LOCKED;
-- generic plans: only the shards that can have the key are asked
SET plan_cache_mode = force_generic_plan;
PREPARE by_key(int) AS SELECT count(*), sum(a) FROM t WHERE k = $1;
CREATE FUNCTION test.push_asked(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  line text; asked int := 0;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE) ' || query LOOP
    asked := asked + (line ~ 'Remote Execution')::int;
  END LOOP;
  RETURN asked;
END $$;
SELECT test.push_asked('EXECUTE by_key(3)'), test.push_asked('SELECT count(*) FROM t');
EXECUTE by_key(3);
EXECUTE by_key(NULL);
PREPARE by_keys(int[]) AS SELECT b FROM t WHERE k = ANY ($1);
PREPARE count_by_keys(int[]) AS SELECT count(*), sum(a) FROM t WHERE k = ANY ($1);
PREPARE join_by_keys(int[]) AS SELECT t.k, count(*) FROM t JOIN u USING (k) WHERE t.k = ANY ($1) GROUP BY t.k ORDER BY 1;
SELECT prepared, keys, test.push_asked(format('EXECUTE %s(%L)', prepared, keys)) FROM unnest(ARRAY['by_keys', 'count_by_keys', 'join_by_keys']) prepared,
  unnest(ARRAY['{3,5,NULL}', '{4}', '{1,2}', '{}', NULL]) keys;
EXECUTE count_by_keys('{3,5,NULL}');
EXECUTE count_by_keys('{1,2}');
EXECUTE join_by_keys('{4,6}');
PREPARE first_rows(bigint, bigint) AS SELECT b FROM t WHERE b IS NOT NULL ORDER BY b LIMIT $1 OFFSET $2;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE first_rows(2, 1);
EXECUTE first_rows(2, 1);
EXECUTE first_rows(1, NULL);
EXECUTE first_rows(-1, 1);
RESET plan_cache_mode;
-- a lookup by key gets a generic plan, unless all partitions would have to be locked for it
CREATE FUNCTION test.push_generic(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  is_generic bool;
BEGIN
  EXECUTE 'PREPARE push_generic(int) AS ' || query;
  FOR execution IN 1 .. 7 LOOP
    EXECUTE 'EXECUTE push_generic(3)';
  END LOOP;
  SELECT generic_plans > 0 INTO is_generic FROM pg_prepared_statements WHERE name = 'push_generic';
  DEALLOCATE push_generic;
  RETURN is_generic;
END $$;
CREATE TABLE push_many (k int, b int) PARTITION BY HASH (k);
DO $$
BEGIN
  FOR part IN 0 .. 12 LOOP
    EXECUTE format('CREATE FOREIGN TABLE push_many%s PARTITION OF push_many FOR VALUES WITH (MODULUS 13, REMAINDER %s) SERVER shard0 OPTIONS (schema_name %L, table_name %L)', part, part, 's0', 'push_t0');
  END LOOP;
END $$;
SELECT query, test.push_generic(query) FROM unnest(ARRAY['SELECT * FROM t WHERE k = $1', 'SELECT count(*), sum(a) FROM t WHERE k = $1', 'UPDATE t SET a = a WHERE k = $1 AND b < 0',
    'SELECT * FROM t WHERE a = $1', 'SELECT * FROM push_many WHERE k = $1']) query;
DROP TABLE push_many;
DROP FUNCTION test.push_generic;
-- a work queue takes and locks exactly as many rows as it asks for
BEGIN;
SELECT count(*) FROM (SELECT b FROM t WHERE k = 3 ORDER BY b LIMIT 2 FOR UPDATE SKIP LOCKED) q;
SELECT count(*) FROM (SELECT b FROM s1.push_t1 WHERE k = 3 FOR UPDATE SKIP LOCKED) free,
  (SELECT count(*) AS rows FROM push_near.t WHERE k = 3) every
  GROUP BY every.rows HAVING count(*) = every.rows - 2;
COMMIT;
-- over all shards: no more on each of them
BEGIN;
SELECT count(*) FROM (SELECT b FROM t ORDER BY b LIMIT 2 FOR UPDATE SKIP LOCKED) q;
SELECT (SELECT count(*) FROM s0.push_t0) - count(*) AS locked
  FROM (SELECT FROM s0.push_t0 FOR UPDATE SKIP LOCKED) free;
SELECT (SELECT count(*) FROM s1.push_t1) - count(*) AS locked
  FROM (SELECT FROM s1.push_t1 FOR UPDATE SKIP LOCKED) free;
COMMIT;
-- off, core's settings decide
SET shard_fdw.partitionwise = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t;
RESET shard_fdw.partitionwise;
RESET search_path;
