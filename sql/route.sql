-- Claim: a statement by key that is planned for its partition alone gives what it
-- gives on local partitions, whatever the key is and however its value is
-- given; rights and later changes of the partitions count as before.
\set VERBOSITY terse
CREATE SCHEMA near;
CREATE SCHEMA far;
CREATE FUNCTION route_table(definition text, partitions text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text := split_part(definition, '(', 1); part int;
BEGIN
  EXECUTE format('CREATE TABLE near.%s', definition);
  EXECUTE format('CREATE TABLE far.%s', definition);
  FOR part IN 1 .. cardinality(partitions) LOOP
    EXECUTE format('CREATE TABLE near.%s_%s PARTITION OF near.%s %s', name, part, name, partitions[part]);
    EXECUTE format('CREATE TABLE s%s.%s_%s (LIKE near.%s INCLUDING GENERATED)', part % 2, name, part, name);
    EXECUTE format('CREATE FOREIGN TABLE far.%s_%s PARTITION OF far.%s %s SERVER shard%s OPTIONS (schema_name %L)', name, part, name, partitions[part], part % 2, 's' || part % 2);
  END LOOP;
END $$;
SELECT route_table('h(k int8, v text, n int) PARTITION BY HASH (k)', ARRAY['FOR VALUES WITH (MODULUS 4, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 4, REMAINDER 2)', 'FOR VALUES WITH (MODULUS 2, REMAINDER 1)']),
  route_table('l(k text, v text, n int) PARTITION BY LIST (k)', ARRAY['FOR VALUES IN (''1'', ''2'', NULL)', 'FOR VALUES IN (''3'', ''4'')', 'DEFAULT']),
  route_table('r(k int2, v text, n int) PARTITION BY RANGE (k)', ARRAY['FOR VALUES FROM (MINVALUE) TO (5)', 'FOR VALUES FROM (5) TO (20)', 'DEFAULT']),
  route_table('d(k date, v text, n int) PARTITION BY RANGE (k)', ARRAY['FOR VALUES FROM (''2026-01-01'') TO (''2026-01-10'')', 'FOR VALUES FROM (''2026-01-10'') TO (''2027-01-01'')']),
  route_table('two(k int, v text, n int) PARTITION BY RANGE (k, n)', ARRAY['FOR VALUES FROM (0, 0) TO (10, 3)', 'FOR VALUES FROM (10, 3) TO (MAXVALUE, MAXVALUE)']),
  route_table('e(k int, v text, n int) PARTITION BY LIST ((k % 3))', ARRAY['FOR VALUES IN (0)', 'FOR VALUES IN (1, 2)']);
DO $$
DECLARE
  schema text;
BEGIN
  FOREACH schema IN ARRAY ARRAY['near', 'far'] LOOP
    PERFORM set_config('search_path', schema || ', public', true);
    INSERT INTO h SELECT i, 'v' || i % 7, i % 3 FROM generate_series(1, 40) i;
    INSERT INTO l SELECT nullif(i, 9), 'v' || i % 7, i % 3 FROM generate_series(1, 40) i;
    INSERT INTO r SELECT i, 'v' || i % 7, i % 3 FROM generate_series(1, 40) i;
    INSERT INTO d SELECT date '2026-01-01' + i, 'v' || i % 7, i % 3 FROM generate_series(0, 40) i;
    INSERT INTO two SELECT i, 'v' || i % 7, i % 3 FROM generate_series(1, 40) i;
    INSERT INTO e SELECT i, 'v' || i % 7, i % 3 FROM generate_series(1, 40) i;
  END LOOP;
END $$;
-- what the query gives, and whether one table is scanned, without an Append
CREATE FUNCTION route_run(query text, schema text, OUT rows text, OUT is_routed bool) LANGUAGE plpgsql AS $$
DECLARE
  line text; nscans int := 0; nappends int := 0;
BEGIN
  PERFORM set_config('search_path', schema || ', public', true);
  EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', query) INTO rows;
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    nscans := nscans + (line ~ 'Foreign Scan')::int;
    nappends := nappends + (line ~ 'Append')::int;
  END LOOP;
  is_routed := nscans = 1 AND nappends = 0;
EXCEPTION WHEN OTHERS THEN
  rows := SQLERRM;
END $$;
CREATE FUNCTION route_compare(queries text[]) RETURNS TABLE (query text, is_routed bool, is_alike bool) LANGUAGE sql AS $$
  SELECT q, f.is_routed, n.rows IS NOT DISTINCT FROM f.rows FROM unnest(queries) q, route_run(q, 'near') n, route_run(q, 'far') f
$$;
SELECT * FROM route_compare(ARRAY['SELECT * FROM h WHERE k = 7', 'SELECT * FROM h WHERE k = int2 ''8''', 'SELECT v, n FROM h WHERE n < 2 AND 9 = k AND v > ''a''', 'SELECT * FROM h WHERE k = 10000000000',
  'SELECT * FROM h WHERE k = 7.0', 'SELECT * FROM h WHERE k = NULL', 'SELECT * FROM h WHERE k = 7 OR k = 8', 'SELECT * FROM h WHERE NOT k = 7',
  'SELECT * FROM h WHERE k IN (7)', 'SELECT * FROM h WHERE k + 0 = 7', 'SELECT h FROM h WHERE k = 7', 'SELECT h.*::text, n FROM h WHERE k = 7', 'SELECT k FROM h WHERE k = 7 AND h IS NOT NULL', 'SELECT k FROM h WHERE k = 7 AND EXISTS (SELECT WHERE h.*::text ~ ''v'')', 'SELECT max(h::text) FROM h WHERE k = 7', 'SELECT k, tableoid::regclass::text ~ ''h_'' FROM h WHERE k = 7',
  'SELECT count(*), sum(n) FROM h WHERE k = 7', 'SELECT v, count(*) FROM h WHERE k = 7 GROUP BY v', 'SELECT DISTINCT v FROM h WHERE k = 7', 'SELECT n, rank() OVER (ORDER BY v) FROM h WHERE k = 7',
  'SELECT * FROM h WHERE k = 7 ORDER BY v LIMIT 1', 'SELECT * FROM h WHERE k = 7 FOR UPDATE', 'SELECT * FROM ONLY h WHERE k = 7', 'SELECT * FROM h TABLESAMPLE SYSTEM (100) WHERE k = 7',
  'SELECT * FROM h WHERE k = 7 AND n = (SELECT max(n) FROM h WHERE k = 7)', 'SELECT (SELECT a.v || b.v FROM h b WHERE b.k = 8) FROM h a WHERE a.k = 7', 'SELECT a.v, b.v FROM (SELECT * FROM h WHERE k = 7) a, (SELECT * FROM h WHERE k = 8) b',
  'WITH a AS MATERIALIZED (SELECT * FROM h WHERE k = 7) SELECT * FROM a', 'SELECT * FROM h WHERE k = 7 UNION ALL SELECT * FROM h WHERE k = 8', 'SELECT x.* FROM h a JOIN LATERAL (SELECT * FROM h WHERE k = 8 AND n <> a.n) x ON true WHERE a.k = 7',
  'SELECT * FROM l WHERE k = ''3''', 'SELECT * FROM l WHERE k = ''1'' AND n = 1', 'SELECT * FROM l WHERE k = ''30''', 'SELECT * FROM l WHERE k IS NULL', 'SELECT * FROM l WHERE k = ''3'' COLLATE "C"', 'SELECT * FROM l WHERE k = name ''3''',
  'SELECT * FROM r WHERE k = -5', 'SELECT * FROM r WHERE k = 4', 'SELECT * FROM r WHERE k = 5', 'SELECT * FROM r WHERE k = 30', 'SELECT * FROM r WHERE k = 100000', 'SELECT * FROM r WHERE k = 5::int8', 'SELECT * FROM r WHERE k > 4',
  'SELECT * FROM d WHERE k = ''2026-01-10''', 'SELECT * FROM d WHERE k = timestamp ''2026-01-09''', 'SELECT * FROM d WHERE k = ''2025-01-10''', 'SELECT * FROM two WHERE k = 10', 'SELECT * FROM two WHERE k = 10 AND n = 1', 'SELECT * FROM e WHERE k = 10', 'SELECT * FROM e WHERE k % 3 = 1']);
-- changes: what is returned, how many rows, and what is in the table then
SELECT route_table('g(k int8, v text, n int, twice int GENERATED ALWAYS AS (n * 2) STORED) PARTITION BY HASH (k)', ARRAY['FOR VALUES WITH (MODULUS 2, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 2, REMAINDER 1)']),
  route_table('deep(k int, v text, n int) PARTITION BY LIST (n)', ARRAY['DEFAULT']),
  route_table('t(k int, v text, n int) PARTITION BY LIST (k)', ARRAY['FOR VALUES IN (7)', 'DEFAULT']);
CREATE FUNCTION route_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('route.noted', concat(current_setting('route.noted', true), ' ', TG_TABLE_NAME, TG_WHEN, TG_LEVEL), true);
  RETURN NULL;
END $$;
DO $$
DECLARE
  schema text;
BEGIN
  FOREACH schema IN ARRAY ARRAY['near', 'far'] LOOP
    PERFORM set_config('search_path', schema || ', public', true);
    INSERT INTO g SELECT i, 'v' || i % 7, i % 3 FROM generate_series(1, 40) i;
    INSERT INTO t SELECT i, 'v' || i % 7, i % 3 FROM generate_series(1, 40) i;
    -- deep is cut by n, and its part below by k
    ALTER TABLE deep DETACH PARTITION deep_1;
    CREATE TABLE deep_n (k int, v text, n int) PARTITION BY LIST (k);
    ALTER TABLE deep_n ATTACH PARTITION deep_1 DEFAULT;
    ALTER TABLE deep ATTACH PARTITION deep_n FOR VALUES IN (0, 1);
    INSERT INTO deep SELECT i, 'v' || i % 7, i % 2 FROM generate_series(1, 40) i;
    CREATE TRIGGER before BEFORE UPDATE OR DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION route_note();
    CREATE TRIGGER after AFTER UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION route_note();
    CREATE TRIGGER part AFTER UPDATE OR DELETE ON t_1 FOR EACH STATEMENT EXECUTE FUNCTION route_note();
    CREATE VIEW few AS SELECT * FROM h WHERE n < 2 WITH CHECK OPTION;
  END LOOP;
END $$;
CREATE FUNCTION route_change(statement text, schema text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  name text := (regexp_match(statement, '(?:UPDATE|DELETE FROM)(?: ONLY)? (\w+)'))[1];
  row record; rows text := ''; n bigint; content text;
BEGIN
  PERFORM set_config('search_path', schema || ', public', true);
  PERFORM set_config('route.noted', '', true);
  IF statement ~ 'RETURNING' THEN
    FOR row IN EXECUTE statement LOOP
      rows := rows || row::text;
    END LOOP;
  ELSE
    EXECUTE statement;
    GET DIAGNOSTICS n = ROW_COUNT;
  END IF;
  EXECUTE format('SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM %s x', name) INTO content;
  RAISE EXCEPTION '% % % %', rows, n, content, current_setting('route.noted');
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || replace(SQLERRM, schema || '.', '');
END $$;
SELECT s AS statement, CASE WHEN near = far THEN substr(near, 1, 5) ELSE E'near ' || near || E'\nfar ' || far END AS alike
FROM unnest(ARRAY['UPDATE h SET n = n + 10 WHERE k = 7', 'UPDATE h SET n = n + 10 WHERE k = 7 RETURNING *', 'UPDATE h x SET v = v || n, n = DEFAULT WHERE 8 = x.k AND n = 2 RETURNING x.v, n', 'UPDATE h SET n = 0 WHERE k = 700', 'UPDATE h SET n = 0 WHERE k = 7 AND n > 100 RETURNING n',
  'UPDATE h SET k = 7 WHERE k = 7 RETURNING *', 'UPDATE h SET k = k + 1, n = 5 WHERE k = 7 RETURNING *', 'UPDATE h SET n = 3 WHERE k = 7 RETURNING h', 'UPDATE h SET n = 3 WHERE k = 7 RETURNING tableoid::regclass::text', 'UPDATE ONLY h SET n = 3 WHERE k = 7',
  'UPDATE h SET n = (SELECT count(*) FROM h) WHERE k = 7 RETURNING n', 'UPDATE h SET v = (SELECT v FROM h b WHERE b.k = 8) WHERE k = 7 RETURNING v', 'UPDATE h SET n = (SELECT max(b.n) FROM h b WHERE b.k = h.k) + 1 WHERE k = 7 RETURNING n', 'UPDATE h SET n = b.n + 5 FROM h b WHERE h.k = 7 AND b.k = 8 RETURNING h.*', 'UPDATE h SET n = 1 WHERE k = 7 AND EXISTS (SELECT FROM l WHERE l.n = h.n)',
  'WITH a AS (SELECT max(n) AS n FROM h) UPDATE h SET n = (SELECT n FROM a) + 1 WHERE k = 7 RETURNING n', 'WITH a AS (DELETE FROM h WHERE k = 8 RETURNING n) UPDATE h SET n = 100 + (SELECT n FROM a) WHERE k = 7 RETURNING n',
  'UPDATE h SET (v, n) = (SELECT ''w'', 9) WHERE k = 7 RETURNING *', 'UPDATE h SET v = pg_typeof(n)::text WHERE k = 7', 'UPDATE h SET n = 1 / (n - n) WHERE k = 7', 'UPDATE h SET n = 5 WHERE k = 7 AND k = 8', 'UPDATE h SET n = 5 WHERE k = 7 OR k = 8',
  'UPDATE few SET n = 1 WHERE k = 7', 'UPDATE few SET n = 2 WHERE k = 7', 'DELETE FROM few WHERE k = 7', 'UPDATE g SET n = n + 1 WHERE k = 7 RETURNING *', 'UPDATE g SET n = 4 WHERE k = 7 AND twice = 2', 'UPDATE g SET twice = DEFAULT WHERE k = 7 RETURNING twice', 'DELETE FROM g WHERE k = 7 RETURNING twice',
  'UPDATE t SET n = n + 1 WHERE k = 7', 'UPDATE t SET n = n + 1 WHERE k = 8', 'DELETE FROM t WHERE k = 7', 'DELETE FROM t WHERE k = 9 RETURNING n', 'UPDATE t_1 SET n = 0 WHERE k = 7',
  'UPDATE deep SET v = ''w'' WHERE k = 7', 'UPDATE deep_n SET v = ''w'' WHERE k = 7 RETURNING *', 'UPDATE deep_n SET n = 7 WHERE k = 7', 'UPDATE deep SET n = 0 WHERE k = 7 RETURNING *', 'DELETE FROM deep_n WHERE k = 7',
  'UPDATE l SET n = n + 5 WHERE k = ''3'' RETURNING *', 'UPDATE l SET v = ''w'' WHERE k = ''30''', 'UPDATE r SET n = 5 WHERE k = -5', 'UPDATE r SET n = n * 2 WHERE k = 30::int8 RETURNING k, n', 'UPDATE two SET v = ''w'' WHERE k = 10 AND n = 1', 'UPDATE e SET v = ''w'' WHERE k = 10', 'UPDATE d SET n = 6 WHERE k = ''2026-01-10''',
  'DELETE FROM h WHERE k = 7', 'DELETE FROM h WHERE k = 7 AND n = 1 RETURNING v, n', 'DELETE FROM h WHERE k = 700 RETURNING *', 'DELETE FROM h USING l WHERE h.k = 7 AND l.n = h.n', 'DELETE FROM l WHERE k IS NULL RETURNING *', 'DELETE FROM l WHERE k = ''3'' RETURNING k']) s,
  route_change(s, 'near') near, route_change(s, 'far') far;
-- parameters: prepared, in functions
SET search_path = far, public;
SET plan_cache_mode = force_custom_plan;
PREPARE by_key(int8, text) AS SELECT k, v FROM h WHERE k = $1 AND v = $2;
EXPLAIN (COSTS OFF) EXECUTE by_key(7, 'v0');
EXECUTE by_key(7, 'v0');
EXECUTE by_key(8, 'v1');
EXECUTE by_key(NULL, 'v1');
PREPARE set_by_key(int8, int) AS UPDATE h SET n = n + $2 WHERE k = $1 RETURNING k, n, tableoid::regclass;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE set_by_key(7, 3);
EXECUTE set_by_key(7, 3);
EXECUTE set_by_key(7, -3);
EXECUTE set_by_key(8, 0);
EXECUTE set_by_key(NULL, 1);
EXPLAIN (VERBOSE, COSTS OFF) DELETE FROM h WHERE k = 7 AND n > 100;
CREATE FUNCTION route_get(wanted int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT v FROM h WHERE k = wanted); END $$;
SELECT i, route_get(i) FROM generate_series(38, 42) i;
-- partitions change
PREPARE seven AS SELECT v, tableoid::regclass FROM h WHERE k = 7;
EXECUTE seven;
PREPARE touch AS UPDATE h SET n = n + 1 WHERE k = 7 RETURNING v, n, tableoid::regclass;
EXECUTE touch;
SELECT tableoid::regclass AS part FROM h WHERE k = 7 \gset
SELECT pg_get_expr(relpartbound, oid) AS bound FROM pg_class WHERE oid = :'part'::regclass \gset
ALTER TABLE h DETACH PARTITION :part;
EXECUTE seven;
EXECUTE touch;
CREATE TABLE h_local PARTITION OF h :bound;
INSERT INTO h VALUES (7, 'local', 0);
EXECUTE seven;
EXECUTE touch;
DROP TABLE h_local;
ALTER TABLE h ATTACH PARTITION :part :bound;
EXECUTE seven;
EXECUTE touch;
-- other columns, other order, a column less there
ALTER TABLE h DETACH PARTITION :part;
ALTER FOREIGN TABLE :part ADD gone int, DROP v;
ALTER FOREIGN TABLE :part ADD v text, DROP gone;
ALTER TABLE h ATTACH PARTITION :part :bound;
EXECUTE seven;
EXECUTE touch;
SELECT * FROM h WHERE k = 7;
-- rights: those on the partitioned table count; views; row-level security
CREATE ROLE regress_route;
GRANT USAGE ON SCHEMA far TO regress_route;
GRANT SELECT (k, v), UPDATE (v) ON h TO regress_route;
CREATE VIEW seen AS SELECT k, v FROM l WHERE k = '3';
GRANT SELECT ON seen TO regress_route;
SELECT current_user AS me \gset
CREATE USER MAPPING FOR regress_route SERVER shard0 OPTIONS (user :'me', password_required 'false');
CREATE USER MAPPING FOR regress_route SERVER shard1 OPTIONS (user :'me', password_required 'false');
SET ROLE regress_route;
SELECT n FROM h WHERE k = 8;
SELECT v FROM l WHERE k = '3';
SELECT v FROM seen;
SELECT k, v FROM h WHERE k = 8;
UPDATE h SET v = 'mine' WHERE k = 8 RETURNING k, v;
UPDATE h SET v = 'mine' WHERE k = 8 AND n = 2;
UPDATE h SET n = 8 WHERE k = 8;
DELETE FROM h WHERE k = 8;
BEGIN READ ONLY;
UPDATE h SET v = 'mine' WHERE k = 8;
ROLLBACK;
RESET ROLE;
ALTER TABLE l ENABLE ROW LEVEL SECURITY;
CREATE POLICY ones ON l USING (n = 1);
CREATE ROLE regress_route2;
GRANT USAGE ON SCHEMA far TO regress_route2;
GRANT SELECT, UPDATE, DELETE ON l TO regress_route2;
CREATE USER MAPPING FOR regress_route2 SERVER shard0 OPTIONS (user :'me', password_required 'false');
SELECT v FROM l WHERE k IN ('3', '4');
SELECT v FROM l WHERE k = '3';
SET ROLE regress_route2;
SELECT v FROM l WHERE k = '3';
SELECT v FROM l WHERE k = '4';
UPDATE l SET v = 'mine' WHERE k = '3' RETURNING *;
UPDATE l SET v = 'mine' WHERE k = '4' RETURNING *;
UPDATE l SET n = 2 WHERE k = '4';
DELETE FROM l WHERE k = '3';
RESET ROLE;
RESET search_path;
DROP OWNED BY regress_route, regress_route2;
SET client_min_messages = warning;
DROP SCHEMA near CASCADE;
DROP SCHEMA far CASCADE;
RESET client_min_messages;
DROP ROLE regress_route, regress_route2;
DROP FUNCTION route_table, route_run, route_compare, route_change, route_note;
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN ('s0', 's1') AND tablename ~ '^(h|l|r|d|two|e|g|deep|t)_[0-9]$' LOOP
    EXECUTE 'DROP TABLE ' || name;
  END LOOP;
END $$;
RESET plan_cache_mode;
