-- Claim: a statement that looks at the table it changes sees it as it was, on
-- shards as on local partitions, also where rows go one by one.
\set VERBOSITY terse
CREATE SCHEMA near;
CREATE SCHEMA far;
CREATE TABLE near.t (gone int, k int, v text, n int, twice int GENERATED ALWAYS AS (n * 2) STORED) PARTITION BY LIST (k);
CREATE TABLE far.t (gone int, k int, v text, n int, twice int GENERATED ALWAYS AS (n * 2) STORED) PARTITION BY LIST (k);
CREATE TABLE near.mixed (k int, v text, n int) PARTITION BY RANGE (k);
CREATE TABLE far.mixed (k int, v text, n int) PARTITION BY RANGE (k);
DO $$
BEGIN
  FOR shard IN 0 .. 1 LOOP
    EXECUTE format('CREATE TABLE near.t_%s PARTITION OF near.t FOR VALUES IN (%s)', shard, (SELECT string_agg(i::text, ', ') FROM generate_series(shard, 200, 2) i));
    EXECUTE format('CREATE TABLE s%s.first_t (LIKE near.t INCLUDING GENERATED)', shard);
    EXECUTE format('CREATE FOREIGN TABLE far.t_%s PARTITION OF far.t FOR VALUES IN (%s) SERVER shard%1$s OPTIONS (schema_name %3$L, table_name %4$L)', shard, (SELECT string_agg(i::text, ', ') FROM generate_series(shard, 200, 2) i), 's' || shard, 'first_t');
    EXECUTE format('CREATE TABLE near.mixed_%s PARTITION OF near.mixed FOR VALUES FROM (%s) TO (%s)', shard, shard * 100, (shard + 1) * 100);
  END LOOP;
  CREATE TABLE s0.first_mixed (LIKE near.mixed);
  CREATE FOREIGN TABLE far.mixed_0 PARTITION OF far.mixed FOR VALUES FROM (0) TO (100) SERVER shard0 OPTIONS (schema_name 's0', table_name 'first_mixed');
  CREATE TABLE far.mixed_1 PARTITION OF far.mixed FOR VALUES FROM (100) TO (200);
END $$;
DO $$
DECLARE
  schema text;
BEGIN
  FOREACH schema IN ARRAY ARRAY['near', 'far'] LOOP
    PERFORM set_config('search_path', schema || ', public', true);
    ALTER TABLE t DROP gone;
    INSERT INTO t SELECT i, 'v' || i % 7, i % 5 FROM generate_series(0, 40) i;
    INSERT INTO mixed SELECT i * 10, 'v' || i % 7, i % 5 FROM generate_series(0, 19) i;
    CREATE VIEW few AS SELECT * FROM t WHERE n < 100 WITH CHECK OPTION;
    CREATE TABLE seen (k int);
  END LOOP;
END $$;
-- what comes back, how many rows, and what is in the table then; rolled back
CREATE FUNCTION first_run(statement text, schema text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  name text := (regexp_match(statement, '(?:UPDATE|DELETE FROM|INSERT INTO)(?: ONLY)? (\w+)'))[1];
  row text; rows text[]; n bigint; content text;
BEGIN
  PERFORM set_config('search_path', schema || ', public', true);
  IF statement ~ 'RETURNING' THEN
    EXECUTE format('WITH r AS (%s) SELECT array_agg(r::text ORDER BY r::text) FROM r', statement) INTO rows;
    n := cardinality(rows);
  ELSE
    EXECUTE statement;
    GET DIAGNOSTICS n = ROW_COUNT;
  END IF;
  EXECUTE format('SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM %s x', name) INTO content;
  RAISE EXCEPTION '% % %', rows, n, content;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || replace(SQLERRM, schema || '.', '');
END $$;
-- the same where RETURNING is not within WITH
CREATE FUNCTION first_run_alone(statement text, schema text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  row record; rows text[];
BEGIN
  PERFORM set_config('search_path', schema || ', public', true);
  FOR row IN EXECUTE statement LOOP
    rows := rows || row::text;
  END LOOP;
  SELECT array_agg(r ORDER BY r) FROM unnest(rows) r INTO rows;
  RAISE EXCEPTION '%', rows;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION first_compare() RETURNS TABLE (statement text, alike text) LANGUAGE sql AS $$
  SELECT s, CASE WHEN near = far THEN substr(near, 1, 5) ELSE format('near %s, far %s', left(near, 300), left(far, 300)) END
  FROM unnest(ARRAY['UPDATE t SET n = 1 + (SELECT max(x.n) FROM t x WHERE x.k < t.k)', 'UPDATE t SET n = (SELECT count(*) FROM t x WHERE x.n = t.n) RETURNING k, n, twice', 'UPDATE t SET n = x.n + 10 FROM t x WHERE x.k = t.n RETURNING t.k, t.n, x.n',
    'UPDATE t SET v = (SELECT left(string_agg(x.v, '','' ORDER BY x.k DESC), 40) FROM t x WHERE x.k BETWEEN t.k - 3 AND t.k) RETURNING *', 'UPDATE t SET k = k + 1, n = (SELECT sum(x.n) FROM t x WHERE x.k <= t.k) WHERE k < 30 RETURNING k, n',
    'UPDATE t SET k = (k + 51) % 200, n = (SELECT count(*) FROM t x WHERE x.n = t.n)', 'UPDATE few SET n = 1 + (SELECT max(x.n) FROM few x WHERE x.k < few.k)', 'UPDATE few SET n = 95 + (SELECT max(x.n) FROM few x WHERE x.k < few.k) WHERE k > 5',
    'DELETE FROM t WHERE n < (SELECT avg(x.n) FROM t x WHERE x.k <= t.k) RETURNING k', 'DELETE FROM t USING t x WHERE x.n = t.n AND x.k < t.k RETURNING t.k', 'DELETE FROM t WHERE EXISTS (SELECT FROM t x WHERE x.k = t.k - 1)',
    'INSERT INTO t (k, n) SELECT x.k + 100, y.m FROM generate_series(1, 40) i JOIN t x ON x.k = i LEFT JOIN LATERAL (SELECT max(k) AS m FROM t WHERE k <> i) y ON true RETURNING k, n, twice', 'INSERT INTO t (k, n) SELECT i + 100, (SELECT count(*) FROM t x WHERE x.k > i) FROM generate_series(1, 30) i RETURNING *', 'INSERT INTO t (k, v, n) VALUES (150, ''a'', (SELECT max(k) FROM t)), (151, ''b'', (SELECT count(*) FROM t)) RETURNING k, n',
    'UPDATE mixed SET n = 1 + (SELECT max(x.n) FROM mixed x WHERE x.k < mixed.k) RETURNING k, n', 'UPDATE mixed SET k = (k + 100) % 200, n = (SELECT count(*) FROM mixed x WHERE x.n = mixed.n) RETURNING k, n', 'DELETE FROM mixed WHERE n < (SELECT avg(x.n) FROM mixed x WHERE x.k <= mixed.k) RETURNING k']) s,
    LATERAL (SELECT first_run(s, 'near') || CASE WHEN s ~ 'RETURNING' THEN first_run_alone(s, 'near') ELSE '' END) a(near),
    LATERAL (SELECT first_run(s, 'far') || CASE WHEN s ~ 'RETURNING' THEN first_run_alone(s, 'far') ELSE '' END) b(far)
$$;
SELECT * FROM first_compare();
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT * FROM first_compare() WHERE alike !~ '^(P0001|44000)';
SET work_mem = '64kB';
UPDATE near.t SET v = repeat('x', 4000) WHERE k < 30;
UPDATE far.t SET v = repeat('x', 4000) WHERE k < 30;
SELECT * FROM first_compare() WHERE alike !~ '^(P0001|44000)';
RESET work_mem;
ALTER SERVER shard0 OPTIONS (ADD batch_size '1');
SELECT * FROM first_compare() WHERE alike !~ '^(P0001|44000)';
ALTER SERVER shard0 OPTIONS (DROP batch_size);
-- local triggers, which see each row when it has been written, and let none move
CREATE FUNCTION first_see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('INSERT INTO %I.seen VALUES ($1)', TG_TABLE_SCHEMA) USING coalesce(NEW.k, OLD.k);
  RETURN NULL;
END $$;
CREATE TRIGGER seen AFTER INSERT OR UPDATE OR DELETE ON near.t FOR EACH ROW EXECUTE FUNCTION first_see();
CREATE TRIGGER seen AFTER INSERT OR UPDATE OR DELETE ON far.t FOR EACH ROW EXECUTE FUNCTION first_see();
SELECT * FROM first_compare() WHERE alike !~ '^(P0001|44000)' AND statement !~ 'SET k';
DROP TRIGGER seen ON near.t;
DROP TRIGGER seen ON far.t;
-- what is read
SET search_path = far, public;
EXPLAIN (VERBOSE, COSTS OFF) UPDATE t SET n = x.n FROM t x WHERE x.n > t.n AND t.k = 4 AND x.k = 5 RETURNING t.k;
EXPLAIN (COSTS OFF) DELETE FROM t USING generate_series(1, 3) i WHERE t.k = 4 AND t.n = i;
RESET search_path;
RESET enable_hashjoin;
RESET enable_mergejoin;
SET client_min_messages = warning;
DROP SCHEMA near CASCADE;
DROP SCHEMA far CASCADE;
RESET client_min_messages;
DROP TABLE s0.first_t, s1.first_t, s0.first_mixed;
DROP FUNCTION first_run, first_run_alone, first_compare, first_see;
