-- Claim: a query over foreign tables returns the same rows as the same query
-- over local copies of them, whatever part of it the shards compute: joins of
-- every kind, groups, aggregates in parts, sorting and limits.
\set VERBOSITY terse
CREATE SCHEMA push_far;
CREATE SCHEMA push_near;
-- two tables sharded alike, over two servers, with NULLs and special values
CREATE FUNCTION test.push_columns(extra text) RETURNS text LANGUAGE sql AS $$
  SELECT '(k int, a int, b int8, s int2, n numeric, f float8, r float4, w text, c text COLLATE "C", d date, o bool, g varbit)' || extra $$;
DO $$
DECLARE
  name text; shard int; part text;
BEGIN
  FOREACH name IN ARRAY ARRAY['t', 'u'] LOOP
    EXECUTE format('CREATE TABLE push_far.%I %s', name, test.push_columns(' PARTITION BY LIST (k)'));
    EXECUTE format('CREATE TABLE push_near.%I %s', name, test.push_columns(''));
    FOR shard IN 0..1 LOOP
      part := name || shard;
      EXECUTE format('CREATE TABLE s%s.push_%s %s', shard, part, test.push_columns(''));
      EXECUTE format('CREATE FOREIGN TABLE push_far.%I PARTITION OF push_far.%I FOR VALUES IN (%s) SERVER shard%s OPTIONS (schema_name ''s%s'', table_name ''push_%s'')',
        part, name, CASE shard WHEN 0 THEN '0, 2, 4, 6, 8, NULL' ELSE '1, 3, 5, 7, 9' END, shard, shard, part);
    END LOOP;
  END LOOP;
  -- tables on one server: x, y, z
  FOREACH name IN ARRAY ARRAY['x', 'y', 'z'] LOOP
    EXECUTE format('CREATE TABLE s0.push_%s %s', name, test.push_columns(''));
    EXECUTE format('CREATE TABLE push_near.%I %s', name, test.push_columns(''));
    EXECUTE format('CREATE FOREIGN TABLE push_far.%I %s SERVER shard0 OPTIONS (schema_name ''s0'', table_name ''push_%s'')', name, test.push_columns(''), name);
  END LOOP;
END $$;
-- one partition has its columns in another order, one dropped, one renamed
ALTER TABLE push_far.u DETACH PARTITION push_far.u1;
DROP FOREIGN TABLE push_far.u1;
ALTER TABLE s1.push_u1 RENAME COLUMN a TO "A far";
CREATE FOREIGN TABLE push_far.u1 (gone int, g varbit, o bool, d date, c text COLLATE "C", w text, r float4, f float8,
  n numeric, s int2, b int8, a int OPTIONS (column_name 'A far'), k int)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'push_u1');
ALTER FOREIGN TABLE push_far.u1 DROP COLUMN gone;
ALTER TABLE push_far.u ATTACH PARTITION push_far.u1 FOR VALUES IN (1, 3, 5, 7, 9);
INSERT INTO push_near.t
  SELECT i % 10, i % 13, i * 1000000007::int8, i % 100, (i - 30) / 7.0, i / 4.0, i / 8.0, 'w' || i % 5,
    chr(65 + i % 7) || 'c', '2024-01-01'::date + i % 17, i % 3 = 0, (i % 4)::bit(3)
  FROM generate_series(1, 120) i;
INSERT INTO push_near.t SELECT i % 2 FROM generate_series(1, 4) i;
INSERT INTO push_near.t VALUES (NULL, 1, NULL, 2, 3, NULL, 4, NULL, 'x'), (5, NULL, 7, NULL, 'NaN', 1, 1, 'w1', NULL);
INSERT INTO push_near.t VALUES (NULL, NULL, 1);
INSERT INTO push_near.u SELECT k, a + 2, b, s, n, f, r, w, c, d, o, g FROM push_near.t WHERE coalesce(a % 3 <> 0, true);
INSERT INTO push_near.x SELECT i % 6, i % 4, i, i, i * 1.5, i, i, 'x' || i % 3, 'c' || i % 5, '2024-01-01', i % 2 = 0, B'1' FROM generate_series(1, 20) i;
INSERT INTO push_near.x VALUES (NULL, NULL, NULL), (1, NULL, 3), (99, 99, NULL);
INSERT INTO push_near.y SELECT i % 5, i % 3, i, i, i * 2.5, i, i, 'x' || i % 4, 'c' || i % 3, '2024-01-02', i % 3 = 0, B'10' FROM generate_series(1, 12) i;
INSERT INTO push_near.y VALUES (NULL, NULL, NULL), (1, NULL, 3), (77, 99, NULL);
INSERT INTO push_near.z SELECT i % 3, i % 2, i, i, i, i, i, 'z' || i, NULL, NULL, NULL, B'0' FROM generate_series(1, 5) i;
INSERT INTO push_near.z VALUES (NULL);
INSERT INTO push_far.t SELECT * FROM push_near.t;
INSERT INTO push_far.u SELECT * FROM push_near.u;
INSERT INTO push_far.x SELECT * FROM push_near.x;
INSERT INTO push_far.y SELECT * FROM push_near.y;
INSERT INTO push_far.z SELECT * FROM push_near.z;
ANALYZE push_near.t, push_near.u, push_near.x, push_near.y, push_near.z;
ANALYZE push_far.t, push_far.u, push_far.x, push_far.y, push_far.z;
-- the rows of a query, as text, with the tables of a schema
CREATE FUNCTION test.push_rows(schema text, query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  result text[] := '{}'; found record;
BEGIN
  PERFORM set_config('search_path', schema || ', public', true);
  FOR found IN EXECUTE query LOOP
    result := result || found::text;
  END LOOP;
  RETURN result;
EXCEPTION WHEN OTHERS THEN
  RETURN ARRAY[SQLSTATE || ' ' || SQLERRM];
END $$;
-- what is wrong with a query, NULL if nothing; the order counts where it is
-- asked for, but not that of a window
CREATE FUNCTION test.push_wrong(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  far text[] := test.push_rows('push_far', query); near text[] := test.push_rows('push_near', query);
BEGIN
  IF query !~* 'ORDER BY' OR (query ~ 'OVER' AND query !~ 'ORDER BY[^)]*$') THEN
    far := ARRAY(SELECT unnest(far) ORDER BY 1);
    near := ARRAY(SELECT unnest(near) ORDER BY 1);
  END IF;
  IF far IS DISTINCT FROM near THEN
    RETURN format('far %s rows: %s; near %s rows: %s', cardinality(far), left(far::text, 300), cardinality(near), left(near::text, 300));
  END IF;
  RETURN NULL;
END $$;
-- is a pattern in the plan of a query over the foreign tables?
CREATE FUNCTION test.push_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('search_path', 'push_far, public', true);
  RETURN QUERY EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query;
END $$;
CREATE TABLE push_query (id int GENERATED ALWAYS AS IDENTITY, query text);

-- groups and aggregates, on one server and in parts
INSERT INTO push_query (query)
SELECT format(form, source) FROM unnest(ARRAY['x', 't', 'x WHERE false', 't WHERE false', 't WHERE k = 5',
    'x JOIN push_near.z q USING (k)', 't WHERE n <> ''NaN'' OR n IS NULL']) source,
  unnest(ARRAY[
  'SELECT count(*), count(a), sum(a), sum(s), min(b), max(c), min(w), max(d) FROM %s',
  'SELECT avg(a), avg(s), avg(b), sum(b), avg(n), sum(n), count(DISTINCT a) FROM %s',
  'SELECT sum(b), avg(b), stddev(b), variance(b), stddev_pop(a), var_samp(s), var_pop(n), stddev_samp(n), variance(n) FROM %s',
  'SELECT round(avg(f)::numeric, 6), round(stddev(f)::numeric, 6), round(variance(f)::numeric, 6), round(var_pop(r)::numeric, 6), sum(f), sum(r), avg(r) FROM %s',
  'SELECT avg(f), stddev(f) IS NULL, count(*) FILTER (WHERE a > 3), avg(a) FILTER (WHERE a > 3), sum(n) FILTER (WHERE o) FROM %s',
  'SELECT sum(-b), avg(-b), stddev(-a), variance(-s), sum(-n), variance(b) FILTER (WHERE a = 77), avg(b) FILTER (WHERE b = 0) FROM %s',
  'SELECT sum(n / CASE WHEN a = 3 THEN ''Infinity''::numeric ELSE 1 END), avg(CASE WHEN a = 3 THEN ''Infinity'' ELSE n END), variance(CASE WHEN a = 3 THEN ''-Infinity'' ELSE n END) FROM %s',
  'SELECT sum(CASE a WHEN 3 THEN ''Infinity'' WHEN 2 THEN ''-Infinity'' ELSE f END), avg(CASE a WHEN 3 THEN ''Infinity'' ELSE f END), stddev(CASE a WHEN 3 THEN ''NaN'' ELSE f END) FROM %s',
  'SELECT sum(CASE a WHEN 3 THEN 9223372036854775807 ELSE b END), avg(CASE a WHEN 3 THEN -9223372036854775808 ELSE b END), stddev(CASE a WHEN 3 THEN 2147483647 ELSE a END) FROM %s',
  'SELECT bool_and(o), bool_or(o), every(o), bit_and(a), bit_or(s), bit_xor(b) FROM %s',
  'SELECT k, count(*), sum(a), avg(n), max(w) FROM %s GROUP BY k',
  'SELECT a, count(*), sum(b), avg(b), max(c), stddev(n) FROM %s GROUP BY a',
  'SELECT a %% 4, w, count(*), min(d) FROM %s GROUP BY a %% 4, w',
  'SELECT a, count(*) FROM %s GROUP BY a HAVING count(*) > 2 AND sum(b) > 0',
  'SELECT a, count(*) + 1, sum(b) / count(*) FROM %s GROUP BY a HAVING bool_or(o)',
  'SELECT k, a, count(*) FROM %s GROUP BY k, a ORDER BY count(*) DESC, k NULLS FIRST, a LIMIT 5',
  'SELECT k, count(*) FROM %s GROUP BY k ORDER BY k DESC LIMIT 3 OFFSET 1',
  'SELECT a, w, count(*), sum(b) FROM %s GROUP BY a, w ORDER BY w DESC, a NULLS FIRST LIMIT 7 OFFSET 2',
  'SELECT a, count(*) FROM %s GROUP BY a HAVING count(*) > 9 ORDER BY a LIMIT 3',
  'SELECT count(*) FROM %s HAVING count(*) > 1000000',
  'SELECT DISTINCT a FROM %s', 'SELECT DISTINCT w, c FROM %s ORDER BY c, w', 'SELECT DISTINCT k FROM %s ORDER BY k LIMIT 4',
  'SELECT DISTINCT ON (a) a, b FROM %s ORDER BY a, b, k',
  'SELECT string_agg(w, '','' ORDER BY w, b) FROM %s', 'SELECT array_agg(a ORDER BY a) FROM %s',
  'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY a) FROM %s', 'SELECT corr(a, f) IS NULL, regr_count(a, f) FROM %s',
  'SELECT a, k, count(*) FROM %s GROUP BY ROLLUP (a, k)',
  'SELECT w, k, grouping(k, w), sum(b) FROM %s GROUP BY k, GROUPING SETS ((w), (), (w, a)) HAVING grouping(w) = 0 OR count(*) > 3',
  'SELECT a + 1, grouping(a + 1), count(DISTINCT w) FROM %s GROUP BY DISTINCT ROLLUP (a + 1, o), CUBE (o) ORDER BY 1 DESC, 3, 2 LIMIT 7',
  'SELECT ''c'', count(*) FROM %s GROUP BY ROLLUP (1)', 'SELECT count(*) FROM (SELECT * FROM %s) q WHERE a = 77 GROUP BY GROUPING SETS ((), ())',
  'SELECT a, b, count(*) FROM (SELECT * FROM %s) q WHERE a = b GROUP BY CUBE (a, b) ORDER BY b, a', 'SELECT count(*), now() IS NULL FROM %s',
  'SELECT max(a) OVER (), a FROM %s', 'SELECT sum(a), row_number() OVER (ORDER BY k NULLS LAST) FROM %s GROUP BY k',
  'SELECT max(a), (SELECT max(b) FROM t WHERE a = 3) FROM %s',
  'SELECT w, sum(CASE WHEN a > 3 THEN a ELSE 0 END), sum(coalesce(n, 0)) FROM %s GROUP BY w',
  'SELECT min(a) FROM %s', 'SELECT max(b), min(b) FROM %s', 'SELECT min(w COLLATE "C") FROM %s'])
  form WHERE source !~ 'JOIN' OR form !~ '[( ]k[ ),]|count\(a\)|(a|b|w|n|c)[, )]';
-- joins of tables on one server
INSERT INTO push_query (query)
SELECT format(form, kind) FROM unnest(ARRAY['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN']) kind, unnest(ARRAY[
  'SELECT x.k, x.b, y.b FROM x %s y ON x.k = y.k',
  'SELECT x.k, x.b, y.b FROM x %s y ON x.k = y.k AND x.a = y.a WHERE x.b > 3',
  'SELECT x.b, y.b FROM x %s y ON x.k = y.k WHERE y.b IS NULL OR y.b > 4',
  'SELECT x.b, y.b FROM (SELECT * FROM x WHERE a > 1) x %s (SELECT * FROM y WHERE a < 2) y ON x.k = y.k',
  'SELECT x.b, y.b, z.b FROM x %s y ON x.k = y.k LEFT JOIN z ON z.k = y.k',
  'SELECT x.b, y.b, z.b FROM x %s (y JOIN z ON y.k = z.k) ON x.k = y.k',
  'SELECT x.b, y.b, z.b FROM x %s (y LEFT JOIN z ON y.k = z.k AND z.b > 2) ON x.k = y.k AND x.a = y.a',
  'SELECT x.b, y.b, z.b FROM (x LEFT JOIN y ON x.k = y.k AND y.a = 1) %s z ON x.a = z.a',
  'SELECT x, y FROM x %s y ON x.k = y.k AND x.a = y.a',
  'SELECT x.b, y IS NULL, y.* IS NULL FROM x %s y ON x.k = y.k AND x.a = y.a',
  'SELECT count(*), count(x.b), count(y.b), sum(y.n) FROM x %s y ON x.k = y.k',
  'SELECT x.k, y.w, count(*), sum(y.n) FROM x %s y ON x.k = y.k GROUP BY x.k, y.w',
  'SELECT x.b, y.b FROM x %s y ON x.k = y.k ORDER BY x.b, y.b LIMIT 7',
  'SELECT x.b, y.b FROM x %s y ON x.k = y.k ORDER BY y.b DESC NULLS LAST, x.b LIMIT 7 OFFSET 2',
  'SELECT x.b, q.e, q.c FROM x %s (SELECT k, coalesce(w, ''none'') e, 7 c FROM y) q ON q.k = x.k',
  'SELECT x.b FROM x %s y ON x.k = y.k WHERE EXISTS (SELECT 1 FROM z WHERE z.a = x.a AND z.b > 1)',
  'SELECT x.b FROM x %s y ON x.k = y.k AND NOT EXISTS (SELECT 1 FROM z WHERE z.k = y.a) ',
  'SELECT y.b FROM x %s y ON x.k = y.k WHERE NOT EXISTS (SELECT 1 FROM z WHERE z.a = y.a)',
  'SELECT x.b, y.b FROM x %s y ON x.k = y.k AND test.here(x.a > 1)',
  'SELECT x.b, y.b FROM x %s y ON x.k = y.k WHERE test.here(x.a > 1)',
  'SELECT x.b, y.b FROM x %s y ON x.w = y.w AND x.c = y.c',
  'SELECT t.b, u.b FROM t %s u ON t.k = u.k AND t.a = u.a',
  'SELECT t.b, u.b FROM t %s u ON t.k = u.k AND t.a = u.a WHERE t.a > 5',
  'SELECT count(*), sum(t.a), avg(u.n) FROM t %s u ON t.k = u.k',
  'SELECT t.a, count(*), sum(u.b) FROM t %s u ON t.k = u.k GROUP BY t.a',
  'SELECT t.k, count(*), sum(u.b) FROM t %s u ON t.k = u.k GROUP BY t.k',
  'SELECT t.k, t.a, u.a FROM t %s u ON t.k = u.k ORDER BY t.k, t.a, u.a LIMIT 9 OFFSET 3',
  'SELECT t.b, u.b FROM t %s u ON t.a = u.a WHERE coalesce(t.a, u.a) < 2',
  'SELECT x.b, t.b FROM x %s t ON x.k = t.k WHERE coalesce(t.a, 1) < 3']) form
WHERE NOT (kind = 'FULL JOIN' AND form ~ 'test.here|EXISTS \(.*AND NOT EXISTS') OR form !~ 'ON x.k = y.k AND (test|NOT)';
-- queries by key, which live on one shard as a whole
INSERT INTO push_query (query)
SELECT format(form, kind) FROM unnest(ARRAY['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN']) kind, unnest(ARRAY[
  'SELECT t.b, u.b FROM t %s u ON t.k = u.k AND t.a = u.a WHERE t.k = 3',
  'SELECT t.b, u.b, t, u IS NULL FROM (SELECT * FROM t WHERE k = 4) t %s (SELECT * FROM u WHERE k = 4) u ON t.a = u.a ORDER BY t.b, u.b',
  'SELECT count(*), sum(t.n), avg(u.f) FROM (SELECT * FROM t WHERE k = 3) t %s (SELECT * FROM u WHERE k = 5) u ON t.a = u.a',
  'SELECT t.w, count(*), max(u.c) FROM t %s u ON t.a = u.a WHERE t.k = 4 AND u.k = 6 GROUP BY t.w HAVING count(*) > 1',
  'SELECT t.b, x.b FROM (SELECT * FROM t WHERE k = 4) t %s x ON t.k = x.k ORDER BY 1, 2 LIMIT 3 OFFSET 1',
  'SELECT t.b, u.b FROM (SELECT * FROM t WHERE k = 3) t %s (SELECT * FROM u WHERE k = 4) u ON t.a = u.a']) form;
INSERT INTO push_query (query) VALUES
  ('SELECT b FROM t WHERE k = 5 AND a IN (SELECT a FROM u WHERE k = 5)'), ('SELECT b FROM t WHERE k = 5 AND NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.a = t.a)'),
  ('SELECT tableoid::regclass::text IS NULL, b FROM t WHERE k = 5 ORDER BY b LIMIT 2'), ('SELECT DISTINCT w FROM t WHERE k = 5 ORDER BY w LIMIT 2'),
  ('SELECT b FROM t WHERE k = 5 AND test.here(a > 2) ORDER BY b LIMIT 2'), ('SELECT a, sum(b) OVER (ORDER BY b) FROM t WHERE k = 5 ORDER BY b LIMIT 2'),
  ('SELECT q.m, t.b FROM (SELECT k, max(b) m FROM u WHERE k = 5 GROUP BY k) q JOIN t USING (k)'), ('SELECT count(*) FROM t WHERE k IS NULL'),
  ('SELECT b, (SELECT count(*) FROM t WHERE t.k = x.k) FROM x'), ('SELECT b, (SELECT sum(a) FROM t WHERE t.k = x.k AND t.a = 1) FROM x'),
  ('SELECT t.b FROM t JOIN u USING (k) WHERE t.k = 2 ORDER BY t.b, u.b LIMIT 4 FOR UPDATE'),
  ('SELECT x.b FROM x LEFT JOIN y ON x.k = y.k WHERE y.k IS NULL'),
  ('SELECT x.b, y.b FROM x LEFT JOIN y ON x.k = y.k WHERE y.k IS NULL'),
  ('SELECT b FROM x WHERE k IN (SELECT k FROM y WHERE a > 0)'),
  ('SELECT b FROM x WHERE k NOT IN (SELECT k FROM y WHERE k IS NOT NULL)'),
  ('SELECT b FROM x WHERE NOT EXISTS (SELECT 1 FROM y WHERE y.k = x.k AND y.a <> x.a)'),
  ('SELECT x.b, z.b FROM x JOIN z ON x.k = z.k WHERE x.a IN (SELECT y.a FROM y JOIN z USING (k))'),
  ('SELECT x.b FROM x, y, z WHERE x.k = y.k AND y.k = z.k AND x.k = z.k'),
  ('SELECT x.b FROM x, y WHERE x.a > y.a AND x.b + y.b < 6'),
  ('SELECT x.b FROM x CROSS JOIN z ORDER BY x.b LIMIT 3'),
  ('SELECT x.b, l.b FROM x, LATERAL (SELECT y.b FROM y WHERE y.k = x.k ORDER BY y.b LIMIT 1) l'),
  ('SELECT x.b, l.m FROM x LEFT JOIN LATERAL (SELECT max(y.b) m FROM y WHERE y.k = x.k) l ON true'),
  ('SELECT x.b, (SELECT count(*) FROM y WHERE y.k = x.k) FROM x'),
  ('SELECT b FROM t WHERE k IN (SELECT k FROM u WHERE a = 3)'),
  ('SELECT b FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.a = t.a)'),
  ('SELECT sum(b) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.a = t.a)'),
  ('SELECT t.b FROM t JOIN u USING (k) JOIN x USING (k) WHERE t.a = 1 AND u.a = 3'),
  ('WITH q AS MATERIALIZED (SELECT k, sum(a) s FROM t GROUP BY k) SELECT * FROM q JOIN u USING (k) WHERE u.a = 2'),
  ('SELECT a FROM t UNION SELECT a FROM u'), ('SELECT a FROM t EXCEPT SELECT a FROM x'),
  ('SELECT a, b FROM t UNION ALL SELECT a, b FROM x ORDER BY b, a LIMIT 5'),
  ('SELECT q.a FROM (SELECT a, b FROM t UNION ALL SELECT a, b FROM x) q ORDER BY q.b, q.a LIMIT 5'),
  ('SELECT * FROM (SELECT * FROM t ORDER BY b LIMIT 5) q ORDER BY a, b LIMIT 2'),
  ('SELECT * FROM t ORDER BY b LIMIT 5'), ('SELECT * FROM t ORDER BY b DESC, k LIMIT 5'),
  ('SELECT b FROM t ORDER BY b DESC NULLS LAST LIMIT 5 OFFSET 2'), ('SELECT b FROM t ORDER BY w, c DESC, b NULLS FIRST LIMIT 9'),
  ('SELECT b FROM t WHERE test.here(a > 3) ORDER BY b LIMIT 4'), ('SELECT b, a + 1 FROM t ORDER BY a + 1, b LIMIT 4'),
  ('SELECT b FROM t WHERE k = 3 ORDER BY b LIMIT 4'), ('SELECT count(*) FROM (SELECT 1 FROM t LIMIT 50) q'),
  ('SELECT count(*) FROM (SELECT 1 FROM t LIMIT 50 OFFSET 110) q'), ('SELECT 1 FROM t LIMIT 0'), ('SELECT count(*) FROM (SELECT 1 FROM t LIMIT NULL) q'),
  ('SELECT b FROM t ORDER BY b LIMIT (SELECT 3)'), ('SELECT b FROM t ORDER BY b OFFSET 120'), ('SELECT b FROM x ORDER BY b OFFSET 12'),
  ('SELECT a FROM t ORDER BY a FETCH FIRST 3 ROWS WITH TIES'), ('SELECT a FROM x ORDER BY a FETCH FIRST 3 ROWS WITH TIES'),
  ('SELECT generate_series(1, a), b FROM x ORDER BY b, 1 LIMIT 7'), ('SELECT generate_series(1, 2), b FROM t ORDER BY b, 1 LIMIT 7'),
  ('SELECT b, random() < 2 FROM t ORDER BY b LIMIT 3'), ('SELECT w FROM x ORDER BY w COLLATE "C" DESC, b LIMIT 5'),
  ('SELECT tableoid IS NULL, b FROM x ORDER BY b LIMIT 2'), ('SELECT x FROM x ORDER BY b LIMIT 2'),
  ('SELECT b FROM t ORDER BY b LIMIT 3 FOR UPDATE'), ('SELECT x.b, y.b FROM x JOIN y USING (k) ORDER BY 1, 2 LIMIT 3 FOR UPDATE'),
  ('SELECT x.b, y.b FROM x LEFT JOIN y USING (k) ORDER BY 1, 2 LIMIT 3 FOR UPDATE OF x'),
  ('SELECT k, count(*) FROM t WHERE k IN (1, 2, 3) GROUP BY k'), ('SELECT a, count(*) FROM t WHERE k = 5 GROUP BY a'),
  ('SELECT count(*) FROM t a, t b, u c WHERE a.k = b.k AND b.k = c.k AND a.a = 1'),
  ('SELECT a.k, b.k FROM t a FULL JOIN u b ON a.k = b.k AND a.b = b.b WHERE a.k IS NULL OR b.k IS NULL'),
  ('SELECT EXISTS (SELECT 1 FROM pg_class), sum(a) FROM x GROUP BY 1'), ('SELECT now() IS NULL, count(*) FROM t GROUP BY 1'),
  ('SELECT sum(a) FROM t WHERE b = -1'), ('SELECT avg(a) FROM x WHERE b = -1'), ('SELECT 1 FROM t GROUP BY ()'), ('SELECT 1 FROM x HAVING true'),
  ('SELECT max(a) FROM x GROUP BY k HAVING test.here(max(a) > 1)'), ('SELECT k + 1, count(*) FROM x GROUP BY k ORDER BY k + 1'),
  ('SELECT k FROM x GROUP BY k, a ORDER BY a, k'), ('SELECT ''c'', count(*) FROM t GROUP BY 1'), ('SELECT w || c, count(*) FROM t GROUP BY w || c'),
  ('SELECT count(*) FROM t WHERE w = c'), ('SELECT a, b FROM x WHERE (a, b) > (2, 5) ORDER BY a, b LIMIT 3');
-- windows and DISTINCT on one server, and over several
INSERT INTO push_query (query)
SELECT format(form, source) FROM unnest(ARRAY['x', 't', '(SELECT * FROM t WHERE k = 4)', '(SELECT x.* FROM x LEFT JOIN y ON x.k = y.k AND x.a = y.a)']) source, unnest(ARRAY[
  'SELECT b, row_number() OVER (ORDER BY b NULLS FIRST, k), rank() OVER (PARTITION BY w ORDER BY c DESC) FROM %s q',
  'SELECT b, sum(n) OVER (PARTITION BY a ORDER BY b, k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE TIES), lag(b, 2, 0::int8) OVER (ORDER BY w, b, k, a) + 1 FROM %s q',
  'SELECT b, count(*) FILTER (WHERE o) OVER (ORDER BY b RANGE BETWEEN 3 PRECEDING AND UNBOUNDED FOLLOWING), max(w) OVER (ORDER BY d RANGE ''3 days'' PRECEDING) FROM %s q',
  'SELECT b, ntile(3) OVER z, nth_value(b, 2) OVER (z GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING EXCLUDE GROUP) FROM %s q WINDOW z AS (PARTITION BY o ORDER BY b, k, a)',
  'SELECT a, sum(count(*)) OVER (ORDER BY a), rank() OVER (ORDER BY sum(s) DESC NULLS LAST) FROM %s q GROUP BY a ORDER BY 3, a LIMIT 4',
  'SELECT a, grouping(a), count(*), sum(count(*)) OVER (PARTITION BY grouping(a)) FROM %s q GROUP BY ROLLUP (a, w) ORDER BY 1, 2, 3, 4',
  'SELECT b FROM (SELECT b, row_number() OVER (PARTITION BY k ORDER BY b) r FROM %s q) p WHERE r <= 2',
  'SELECT b, first_value(c) OVER (ORDER BY b DESC NULLS LAST) FROM %s q ORDER BY b DESC NULLS LAST, 2 LIMIT 4 OFFSET 1',
  'SELECT q, dense_rank() OVER (ORDER BY a) FROM %s q', 'SELECT b, rank() OVER (ORDER BY test.here(o)) FROM %s q', 'SELECT b, test.here(o), rank() OVER (ORDER BY o) FROM %s q',
  'SELECT b, min(a) OVER (ORDER BY w COLLATE "C", b), now() - now(), avg(a + 1) OVER () FROM %s q', 'SELECT sum(b) OVER (ORDER BY b) FROM %s q WHERE test.here(a > 3)',
  'SELECT DISTINCT a, rank() OVER (ORDER BY a) FROM %s q ORDER BY 2 DESC, 1 LIMIT 3', 'SELECT DISTINCT a %% 2, count(*) OVER (PARTITION BY a %% 2) + 1 FROM %s q',
  'SELECT DISTINCT count(*) FROM %s q GROUP BY a', 'SELECT DISTINCT a, count(*), a + count(*) FROM %s q GROUP BY a ORDER BY 2, 1', 'SELECT DISTINCT ON (a) a, b FROM %s q ORDER BY a NULLS FIRST, b DESC, k LIMIT 5',
  'SELECT DISTINCT ON (w, a) a + 1, w, b FROM %s q ORDER BY w, a, b, k, c OFFSET 2', 'SELECT DISTINCT ON (k, a) k, b FROM %s q WHERE k = 4 ORDER BY k, a, b',
  'SELECT DISTINCT ON (k) k, b FROM %s q WHERE k = 4 ORDER BY k, b', 'SELECT DISTINCT ON (a, k) k FROM %s q ORDER BY a LIMIT 4',
  'SELECT DISTINCT ON (a) a, count(*) FROM %s q GROUP BY a, w ORDER BY a, 2 DESC', 'SELECT DISTINCT ON (a) a, rank() OVER (ORDER BY b) FROM %s q ORDER BY a, 2 DESC, b']) form;
INSERT INTO push_query (query)
SELECT format('SELECT %1$s FROM %2$s ORDER BY %1$s %3$s', columns, source, ending) FROM unnest(ARRAY['a', 'w DESC, o NULLS FIRST', 'd']) columns, unnest(ARRAY['t', 't JOIN u USING (k, a, w, o, d)']) source,
  unnest(ARRAY['FETCH FIRST 3 ROWS WITH TIES', 'OFFSET 7 FETCH FIRST 2 ROWS WITH TIES', 'OFFSET (SELECT 2) FETCH FIRST 5 ROWS WITH TIES']) ending;
INSERT INTO push_query (query) VALUES ('SELECT count(*), sum(c) FROM (SELECT k, a, count(*) c FROM t GROUP BY k, a ORDER BY 3 DESC FETCH FIRST 2 ROWS WITH TIES) q'), ('SELECT a, count(*) FROM t GROUP BY a ORDER BY a FETCH FIRST 4 ROWS WITH TIES');
-- VALUES lists
INSERT INTO push_query (query)
SELECT format(form, list) FROM unnest(ARRAY['(VALUES (3, ''x1''), (4, ''x2''), (NULL, ''x0''), (5, NULL))', '(VALUES (3, now()::text || ''x''), ((SELECT 5), ''x0''))',
    '(VALUES (1::int8, ''x1'' COLLATE "C"), (2, ''Ac''))', '(VALUES ((random() * 0)::int + 5, ''x''), (3, ''y''))']) list, unnest(ARRAY[
  'SELECT v.*, x.b FROM x JOIN %s v(p, q) ON x.k = v.p', 'SELECT v.q, x.b FROM %s v(p, q) LEFT JOIN x ON x.k = v.p AND x.w <> v.q', 'SELECT v.q, x.b FROM x LEFT JOIN %s v(p, q) ON x.w = v.q AND v.p > 3',
  'SELECT count(v.p), count(*) FROM x FULL JOIN (SELECT * FROM %s v WHERE column1 < 5) v(p, q) ON x.k = v.p', 'SELECT v, x.b FROM x JOIN %s v(p, q) ON x.k = v.p', 'SELECT b FROM x WHERE (k, w) IN %s',
  'SELECT b FROM t WHERE k = 3 AND (a, w) IN (SELECT * FROM %s v)', 'SELECT t.b, q FROM t, %s v(p, q) WHERE t.k = v.p', 'SELECT b FROM x WHERE NOT EXISTS (SELECT 1 FROM %s v(p, q) WHERE p = k OR q = w)',
  'SELECT q, count(*), max(x.b) FROM x LEFT JOIN %s v(p, q) ON k = p GROUP BY q ORDER BY 2, 1 LIMIT 2', 'SELECT x.b, v.p, u.p FROM x, %1$s v(p, q), %1$s u(p, q) WHERE v.p <> u.p AND v.p = x.k',
  'SELECT x.b FROM x JOIN %s v(p, q) ON x.k = v.p ORDER BY x.b LIMIT 2 FOR UPDATE OF x', 'SELECT x.b, y.b, v.p FROM x LEFT JOIN (y JOIN %s v(p, q) ON y.k = v.p) ON x.k = y.k']) form
WHERE form !~ 'IN ' OR list !~ 'random';
-- conditions without columns, which core checks above scans of tables only
INSERT INTO push_query (query)
SELECT format(form, condition) FROM unnest(ARRAY['k = 3 AND k = 0', 'EXISTS (SELECT 1 FROM push_near.z WHERE a = 77)',
    '(SELECT count(*) FROM push_near.z) > 0', 'k = 3 AND (SELECT NULL::bool)']) condition, unnest(ARRAY[
  'SELECT count(*), sum(a) FROM x WHERE %s', 'SELECT a, count(*) FROM x WHERE %s GROUP BY a', 'SELECT b FROM x WHERE %s ORDER BY b LIMIT 2',
  'SELECT count(*) FROM t WHERE %s', 'SELECT a, count(*) FROM t WHERE %s GROUP BY a', 'SELECT b FROM t WHERE %s ORDER BY b LIMIT 2',
  'SELECT x.b, z.b FROM (SELECT * FROM x WHERE %s) x LEFT JOIN z USING (k)', 'SELECT x.b, z.b FROM z LEFT JOIN (SELECT * FROM x WHERE %s) x USING (k)',
  'SELECT count(*) FROM z FULL JOIN (SELECT * FROM x WHERE %s) x USING (k)', 'SELECT z.b FROM z WHERE NOT EXISTS (SELECT 1 FROM x WHERE %s)',
  'SELECT z.b, (SELECT count(*) FROM x WHERE x.k = z.k AND z.a = 1 AND %s) FROM z', 'SELECT b FROM t WHERE k = 5 AND %s LIMIT 1']) form;
-- the same with a partition itself
CREATE VIEW push_near.t0 AS SELECT * FROM push_near.t WHERE k IN (0, 2, 4, 6, 8) OR k IS NULL;
INSERT INTO push_query (query) VALUES
  ('SELECT b, (SELECT count(*) FROM t0 WHERE t0.k = x.k) FROM x'), ('SELECT b, (SELECT max(a) FROM t0 WHERE t0.k = x.k GROUP BY k) FROM x'),
  ('SELECT b, (SELECT sum(y.b) FROM t0 JOIN y USING (k) WHERE t0.k = x.k) FROM x');
SELECT query, wrong FROM (SELECT id, query, test.push_wrong(query) wrong FROM push_query) q WHERE wrong IS NOT NULL ORDER BY id;
SELECT count(*) > 200 FROM push_query;
