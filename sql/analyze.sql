-- Claim: ANALYZE of a partitioned table samples its shards at the same time and
-- gets the same statistics as ANALYZE of the partitions; each method of option
-- analyze_sampling gives a sample of the right size; errors leave nothing behind.
\set VERBOSITY terse
CREATE TABLE s0.an (k int, g int, v text);
CREATE TABLE s1.an (LIKE s0.an);
INSERT INTO s0.an SELECT i, i % 10, repeat('x', 20) FROM generate_series(1, 20000) i;
INSERT INTO s1.an SELECT i, i % 10, repeat('x', 20) FROM generate_series(20001, 80000) i;
ANALYZE s0.an, s1.an;
CREATE TABLE an (g int, v text, k int) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE an0 PARTITION OF an FOR VALUES FROM (1) TO (20001)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'an');
-- below a partition of its own, in another order
CREATE TABLE an_rest PARTITION OF an FOR VALUES FROM (20001) TO (90001) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE an1 (k int, v text, g int)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'an');
ALTER TABLE an_rest ATTACH PARTITION an1 FOR VALUES FROM (20001) TO (80001);
CREATE TABLE an2 PARTITION OF an_rest FOR VALUES FROM (80001) TO (90001);
INSERT INTO an2 SELECT 3, 'local', i FROM generate_series(80001, 80100) i;
-- how many rows a table is said to have, about
CREATE FUNCTION an_rows(rel regclass) RETURNS text LANGUAGE sql AS $$
  SELECT rel || ' ' || round(reltuples / 30000) * 30 || 'k' FROM pg_class WHERE oid = rel $$;
CREATE FUNCTION an_stats(rel name) RETURNS TABLE (inherited boolean, attname name, groups real, known boolean) LANGUAGE sql AS $$
  SELECT inherited, attname, CASE WHEN attname = 'g' THEN n_distinct END, histogram_bounds IS NOT NULL
  FROM pg_stats WHERE schemaname = 'public' AND tablename = rel ORDER BY 1, 2 $$;
SET default_statistics_target = 10;
-- tables alone, each in a transaction of its own
ANALYZE an0, an1;
ANALYZE an;
SELECT * FROM an_stats('an');
SELECT an_rows(rel) FROM unnest('{an0,an1,an2}'::regclass[]) rel;
-- in a transaction block, more than once, and the partitions after the parent
BEGIN;
ANALYZE an;
ANALYZE an0;
ANALYZE an, an1;
SELECT count(*) FROM an WHERE k < 10;
COMMIT;
SELECT an_rows(rel) FROM unnest('{an0,an1,an2}'::regclass[]) rel;
-- the methods; 300 times the target of 10 is less than a fifth of the rows
CREATE PROCEDURE an_method(method text) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER FOREIGN TABLE an0 OPTIONS (ADD analyze_sampling %L)', method);
  UPDATE pg_class SET reltuples = -1 WHERE oid = 'an0'::regclass;
END $$;
CREATE FUNCTION an_sampled() RETURNS TABLE (rows text, groups real) LANGUAGE sql AS $$
  SELECT CASE WHEN reltuples BETWEEN 15000 AND 25000 THEN 'about 20000' ELSE reltuples::text END,
    (SELECT n_distinct FROM pg_stats WHERE tablename = 'an0' AND attname = 'g')
  FROM pg_class WHERE oid = 'an0'::regclass $$;
CALL an_method('off');
ANALYZE an0;
SELECT reltuples FROM pg_class WHERE relname = 'an0';
ALTER FOREIGN TABLE an0 OPTIONS (DROP analyze_sampling);
CALL an_method('auto');
ANALYZE an0;
SELECT * FROM an_sampled();
ALTER FOREIGN TABLE an0 OPTIONS (DROP analyze_sampling);
CALL an_method('random');
ANALYZE an0;
SELECT * FROM an_sampled();
ALTER FOREIGN TABLE an0 OPTIONS (DROP analyze_sampling);
CALL an_method('bernoulli');
ANALYZE an0;
SELECT * FROM an_sampled();
ALTER FOREIGN TABLE an0 OPTIONS (DROP analyze_sampling);
-- by page, so that the number of rows is a matter of luck
CALL an_method('system');
ANALYZE an0;
SELECT reltuples BETWEEN 5000 AND 40000 AS plausible, groups FROM an_sampled(), pg_class WHERE relname = 'an0';
ALTER FOREIGN TABLE an0 OPTIONS (DROP analyze_sampling);
-- what TABLESAMPLE cannot take is read as a whole
CREATE VIEW s0.an_view AS SELECT * FROM s0.an WHERE k <= 5000;
CREATE FOREIGN TABLE an_view (k int, g int, v text) SERVER shard0
  OPTIONS (schema_name 's0', analyze_sampling 'system');
ANALYZE an_view;
SELECT reltuples FROM pg_class WHERE relname = 'an_view' AND relnamespace = 'public'::regnamespace;
-- the shard's own statistics, where there is an interface for them: they do not
-- know of rows that came after; the columns named, all, and none there
INSERT INTO s0.an SELECT 20000, 5, 'new' FROM generate_series(1, 4000);
ALTER FOREIGN TABLE an0 OPTIONS (ADD import_stats 'true', ADD analyze_sampling 'off');
CREATE FUNCTION an_imported() RETURNS boolean LANGUAGE sql AS $$
  SELECT (current_setting('server_version_num')::int >= 190000) = (reltuples = 20000)
  FROM pg_class WHERE oid = 'an0'::regclass $$;
ANALYZE an0;
SELECT an_imported();
SELECT count(*) FROM pg_stats l JOIN pg_stats r USING (attname)
  WHERE l.schemaname = 'public' AND r.schemaname = 's0' AND l.tablename = 'an0' AND r.tablename = 'an'
    AND l.n_distinct = r.n_distinct AND l.avg_width = r.avg_width AND attname = 'g'
    AND (l.histogram_bounds::text = r.histogram_bounds::text) IS NOT FALSE;
ANALYZE an0 (g);
SELECT an_imported();
ALTER FOREIGN TABLE an_view OPTIONS (ADD import_stats 'true');
ANALYZE an_view;
SELECT reltuples FROM pg_class WHERE relname = 'an_view' AND relnamespace = 'public'::regnamespace;
ALTER FOREIGN TABLE an0 OPTIONS (DROP import_stats, DROP analyze_sampling);
DROP FUNCTION an_imported();
-- an error on one shard, below a savepoint and not
ALTER TABLE s1.an RENAME TO an_gone;
ANALYZE an;
BEGIN;
SAVEPOINT s;
ANALYZE an;
ROLLBACK TO s;
SELECT count(*) FROM an WHERE k < 10;
ANALYZE an0;
COMMIT;
ALTER TABLE s1.an_gone RENAME TO an;
ALTER TABLE s1.an DROP COLUMN v;
ANALYZE an;
SELECT count(*) FROM an WHERE k < 10;
ALTER TABLE s1.an ADD COLUMN v text;
ANALYZE an;
DROP TABLE an, s0.an, s1.an CASCADE;
DROP FOREIGN TABLE an_view;
DROP FUNCTION an_rows(regclass), an_stats(name), an_sampled();
DROP PROCEDURE an_method(text);
RESET default_statistics_target;
