-- Claim: INSERT ... RETURNING of many rows into tables on shards gives the rows
-- that it gives with local tables, in their order, and the same number of rows,
-- although the rows travel in batches.  Schema near has local tables; schema
-- far has the same, t with two partitions of three on shards, u with both.
\set VERBOSITY terse
CREATE SCHEMA near;
CREATE SCHEMA far;
-- what a leaf table does by itself: defaults, other values, rows left out
CREATE FUNCTION test.leaf_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.n < 0 THEN RETURN NULL; END IF;
  NEW.id := coalesce(NEW.id, nextval(format('%I.%I', TG_TABLE_SCHEMA, TG_TABLE_NAME || '_seq')::regclass));
  NEW.n := NEW.n + 0.5;
  RETURN NEW;
END $$;
CREATE FUNCTION test.make_leaf(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TABLE %s (v text CHECK (v <> ''bad''), gone int, n numeric(12,2), k int UNIQUE,
    id int, g int GENERATED ALWAYS AS (k * 2) STORED, a int[])', name);
  EXECUTE format('ALTER TABLE %s DROP gone', name);
  EXECUTE format('CREATE SEQUENCE %s_seq', name);
  EXECUTE format('CREATE TRIGGER r BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION test.leaf_row()', name);
END $$;
DO $$
DECLARE
  columns text := 'k int, v text, n numeric(12,2), a int[], id int, g int GENERATED ALWAYS AS (k * 2) STORED';
  place text;
  parts int;
  base text;
BEGIN
  FOREACH place IN ARRAY ARRAY['near', 'far'] LOOP
    FOR base, parts IN VALUES ('t', 3), ('u', 2) LOOP
      EXECUTE format('CREATE TABLE %s.%s (%s) PARTITION BY HASH (k)', place, base, columns);
      FOR part IN 0 .. parts - 1 LOOP
        IF place = 'near' OR part = 2 THEN
          PERFORM test.make_leaf(format('%s.%s_%s', place, base, part));
        ELSE
          PERFORM test.make_leaf(format('s%s.%s_%1$s', part, base));
          EXECUTE format('CREATE FOREIGN TABLE far.%s_%s (%s, gone int) SERVER shard%2$s OPTIONS (schema_name ''s%2$s'')',
            base, part, CASE part WHEN 0 THEN columns ELSE 'more int, ' || columns END);
          EXECUTE format('ALTER FOREIGN TABLE far.%s_%s DROP gone', base, part);
          IF part = 1 THEN
            EXECUTE format('ALTER FOREIGN TABLE far.%s_%s DROP more', base, part);
          END IF;
        END IF;
        EXECUTE format('ALTER TABLE %s.%s ATTACH PARTITION %1$s.%2$s_%s FOR VALUES WITH (MODULUS %s, REMAINDER %3$s)',
          place, base, part, parts);
      END LOOP;
    END LOOP;
  END LOOP;
END $$;
CREATE UNIQUE INDEX ON near.u (k);
CREATE TABLE other AS SELECT i AS k, 'o' || i AS v FROM generate_series(1, 50) i;
CREATE SEQUENCE counter;
CREATE FUNCTION test.restart_sequences() RETURNS void LANGUAGE sql AS $$
  SELECT setval(oid::regclass, 1) FROM pg_class WHERE relkind = 'S' AND relname ~ '^([tu]_._seq|counter)$' $$;
-- the rows that a statement returns, and how many it says there are; undone
CREATE FUNCTION test.rows_in(place text, statement text, OUT result text[], OUT tag bigint) LANGUAGE plpgsql AS $$
DECLARE
  line record;
BEGIN
  PERFORM set_config('search_path', place || ', public', true);
  PERFORM test.restart_sequences();
  BEGIN
    EXECUTE statement;
    GET DIAGNOSTICS tag = ROW_COUNT;
    RAISE EXCEPTION SQLSTATE 'TS000';
  EXCEPTION WHEN SQLSTATE 'TS000' THEN
  END;
  PERFORM test.restart_sequences();
  BEGIN
    FOR line IN EXECUTE statement LOOP
      result := result || line::text;
    END LOOP;
    RAISE EXCEPTION SQLSTATE 'TS000';
  EXCEPTION WHEN SQLSTATE 'TS000' THEN
  END;
EXCEPTION WHEN OTHERS THEN
  result := ARRAY[SQLSTATE || ' ' || SQLERRM];
END $$;
CREATE FUNCTION same(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  near record;
  far record;
BEGIN
  near := test.rows_in('near', statement);
  far := test.rows_in('far', statement);
  IF near IS NOT DISTINCT FROM far THEN
    RETURN format('same, %s rows, tag %s: %s', cardinality(near.result), near.tag, left(near.result[1], 60));
  ELSIF near.tag IS NOT DISTINCT FROM far.tag AND (SELECT array_agg(r ORDER BY r) FROM unnest(near.result) r) =
      (SELECT array_agg(r ORDER BY r) FROM unnest(far.result) r) THEN
    RETURN format('another order, %s rows, tag %s', cardinality(near.result), near.tag);
  END IF;
  RETURN format('near: tag %s %s far: tag %s %s', near.tag, left(near.result::text, 1000), far.tag, left(far.result::text, 1000));
END $$;
\pset format unaligned
\pset tuples_only on
-- columns, the row, the table, expressions, nothing at all
SELECT same('INSERT INTO t (k, v, n) VALUES (1, ''a'', 1), (2, ''b'', 2), (3, NULL, 3), (4, ''d'', NULL) RETURNING *');
SELECT same('INSERT INTO t SELECT i, ''v'' || i, i, ARRAY[i, NULL, -i] FROM generate_series(1, 10) i RETURNING *');
SELECT same('INSERT INTO t SELECT i, ''v'' || i, i FROM generate_series(1, 5000) i RETURNING *');
SELECT same('INSERT INTO t (k) SELECT i FROM generate_series(1, 5000) i RETURNING id, tableoid::regclass');
SELECT same('INSERT INTO t AS x SELECT i, ''w'' FROM generate_series(1, 100) i RETURNING x, x IS NULL, (x).id, to_jsonb(x)');
SELECT same('INSERT INTO t (v, k) SELECT i, i FROM generate_series(1, 100) i RETURNING g + 1, upper(v) || g, CASE WHEN n IS NULL THEN k END AS n');
SELECT same('INSERT INTO t (v, k) SELECT i, i FROM generate_series(1, 1000) i RETURNING 1');
SELECT same('INSERT INTO t (v, k) SELECT i, i FROM generate_series(1, 1000) i RETURNING now() = now(), tableoid::regclass');
SELECT same('INSERT INTO t SELECT i, repeat(''long'', 20000) || i FROM generate_series(1, 60) i RETURNING length(v), v');
-- rows that the leaf leaves out; those of each leaf stay in their order, but the places among them move
SELECT same('INSERT INTO t SELECT i, ''s'', -1 FROM generate_series(1, 1000) i RETURNING k');
SELECT same('INSERT INTO t SELECT i, ''s'', CASE WHEN i % 7 = 0 THEN -1 ELSE i END FROM generate_series(1, 3000) i RETURNING k, n');
SELECT same('INSERT INTO t_0 (k, v, n) SELECT i, ''s'', CASE WHEN i % 7 = 0 THEN -1 ELSE i END FROM generate_series(1, 3000) i
  WHERE satisfies_hash_partition(''t''::regclass, 3, 0, i) RETURNING k, n, tableoid::regclass');
-- ON CONFLICT
SELECT same('WITH w AS (INSERT INTO t SELECT i, ''x'' FROM generate_series(1, 30) i RETURNING 1)
  SELECT count(*) FROM w');
INSERT INTO near.t SELECT i, 'there', i FROM generate_series(10, 1000, 10) i;
INSERT INTO far.t SELECT i, 'there', i FROM generate_series(10, 1000, 10) i;
INSERT INTO near.u SELECT i, 'there', i FROM generate_series(10, 1000, 10) i;
INSERT INTO far.u SELECT i, 'there', i FROM generate_series(10, 1000, 10) i;
SELECT same('INSERT INTO t SELECT i, ''c'' FROM generate_series(1, 1500) i ON CONFLICT DO NOTHING RETURNING *');
SELECT same('INSERT INTO u SELECT i, ''c'' FROM generate_series(1, 1500) i ON CONFLICT (k) DO NOTHING RETURNING *');
SELECT same('INSERT INTO u SELECT i, ''c'' FROM generate_series(10, 1000, 10) i ON CONFLICT (k) DO NOTHING RETURNING *');
SELECT same('INSERT INTO u AS x SELECT i, ''c'', i FROM generate_series(1, 1500) i
  ON CONFLICT (k) DO UPDATE SET v = x.v || excluded.v, n = excluded.n * 2 RETURNING k, v, n, g');
SELECT same('INSERT INTO u AS x SELECT i, ''c'', i FROM generate_series(1, 1500) i
  ON CONFLICT (k) DO UPDATE SET v = ''u'' WHERE x.k % 20 = 0 RETURNING k, v');
SELECT same('INSERT INTO u SELECT 1 + i % 1400, ''c'' FROM generate_series(1, 1500) i ON CONFLICT (k) DO UPDATE SET v = ''twice'' RETURNING k');
-- WITH: read, read in part, not read, read by another INSERT, beside another
SELECT same('WITH w AS (INSERT INTO t SELECT i, ''x'' FROM generate_series(10001, 13000) i RETURNING k, n, tableoid::regclass)
  SELECT * FROM w JOIN other o ON o.k = w.k - 10000');
SELECT same('WITH w AS (INSERT INTO t SELECT i, ''x'' FROM generate_series(10001, 13000) i RETURNING k) SELECT * FROM w LIMIT 3');
SELECT same('WITH w AS (INSERT INTO t SELECT i, ''x'' FROM generate_series(10001, 13000) i RETURNING k),
  w2 AS (INSERT INTO u SELECT k, ''y'' FROM w RETURNING *) INSERT INTO t SELECT k + 100000, v FROM w2 RETURNING k, v');
BEGIN;
SET LOCAL search_path = far, public;
WITH w AS (INSERT INTO t SELECT i, 'part' FROM generate_series(20001, 23000) i RETURNING k),
  w2 AS (INSERT INTO u SELECT i, 'unread' FROM generate_series(20001, 23000) i RETURNING k) SELECT k FROM w LIMIT 2;
SELECT (SELECT count(*) FROM t WHERE v = 'part'), (SELECT count(*) FROM u WHERE v = 'unread');
ROLLBACK;
-- what could tell that rows behind are there already, goes row by row
CREATE FUNCTION count_t() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN (SELECT count(*) FROM t); END $$;
SELECT same('INSERT INTO t SELECT i, ''f'' FROM generate_series(20001, 20005) i RETURNING k, count_t()');
SELECT same('INSERT INTO t SELECT nextval(''counter'') + 30000, ''f'' FROM generate_series(1, 5) i RETURNING currval(''counter'') - k');
SELECT same('INSERT INTO t SELECT i, ''f'' FROM generate_series(20001, 20050) i
  RETURNING k, (SELECT o.v FROM other o WHERE o.k = t.k - 20000), EXISTS (SELECT FROM other o WHERE o.k = t.k - 20010)');
SELECT same('INSERT INTO t SELECT i, ''f'' FROM generate_series(20001, 20005) i RETURNING (SELECT count_t() WHERE t.k > 0)');
SELECT same('INSERT INTO t SELECT i, ''f'' FROM generate_series(20001, 22000) i RETURNING k + (SELECT count(*) FROM other), (SELECT max(v) FROM other)');
-- a function of the source sees the rows before its own
SELECT same('INSERT INTO t SELECT i, count_t() FROM generate_series(20001, 20005) i RETURNING v');
SELECT same('INSERT INTO t SELECT k + 50000, v, n FROM t ORDER BY k RETURNING *');
-- functions of the source that insert into the same table, and undo it
CREATE FUNCTION inner_in(i int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
  BEGIN
    WITH w AS (INSERT INTO t SELECT i * 10 + j, 'inner' FROM generate_series(1, 3) j RETURNING k, v)
      SELECT string_agg(v || k, ' ') INTO result FROM w;
    IF i % 2 = 0 THEN RAISE division_by_zero; END IF;
  EXCEPTION WHEN division_by_zero THEN
    RETURN 'undone ' || result;
  END;
  RETURN result;
END $$;
SELECT same('INSERT INTO t SELECT i, inner_in(i) FROM generate_series(20001, 20100) i RETURNING k, v, count_t()');
SELECT same('INSERT INTO t SELECT i, inner_in(i) FROM generate_series(20001, 20100) i RETURNING k, v');
SELECT same('WITH w AS (INSERT INTO t SELECT i, inner_in(i) FROM generate_series(20001, 20100) i RETURNING k, v)
  SELECT count(*), (SELECT count_t()) - 100 FROM w');
-- local triggers
CREATE FUNCTION before_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.k % 10 = 3 THEN RETURN NULL; END IF;
  NEW.v := NEW.v || '!';
  RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE INSERT ON near.t FOR EACH ROW EXECUTE FUNCTION before_row();
CREATE TRIGGER a BEFORE INSERT ON far.t FOR EACH ROW EXECUTE FUNCTION before_row();
SELECT same('INSERT INTO t SELECT i, ''b'' FROM generate_series(20001, 22000) i RETURNING *');
DROP TRIGGER a ON near.t;
DROP TRIGGER a ON far.t;
CREATE TABLE logged (k int, v text);
CREATE FUNCTION after_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO logged VALUES (NEW.k, format('%s %s', NEW.id, NEW.n));
  RETURN NULL;
END $$;
CREATE TRIGGER a AFTER INSERT ON near.t_1 FOR EACH ROW EXECUTE FUNCTION after_row();
CREATE TRIGGER a AFTER INSERT ON far.t_1 FOR EACH ROW EXECUTE FUNCTION after_row();
SELECT same('INSERT INTO t SELECT i, ''b'', i FROM generate_series(20001, 20100) i RETURNING *');
BEGIN;
WITH w AS (INSERT INTO far.t SELECT i, 'b', i FROM generate_series(20001, 20100) i RETURNING tableoid, k)
  SELECT count(*), bool_and((tableoid = 'far.t_1'::regclass) = satisfies_hash_partition('far.t'::regclass, 3, 1, k)) FROM w;
SELECT count(*) > 10, count(*) FILTER (WHERE v NOT LIKE '% %') FROM logged;
ROLLBACK;
DROP TRIGGER a ON near.t_1;
DROP TRIGGER a ON far.t_1;
-- checks: of a view, of policies
CREATE VIEW near.checked AS SELECT * FROM near.t WHERE n < 100 WITH CHECK OPTION;
CREATE VIEW far.checked AS SELECT * FROM far.t WHERE n < 100 WITH CHECK OPTION;
SELECT same('INSERT INTO checked (k, n) SELECT i, i - 20000 FROM generate_series(20001, 20050) i RETURNING k, n');
SELECT same('INSERT INTO checked (k, n) SELECT i, i - 20000 FROM generate_series(20090, 20101) i RETURNING k, n') ~ '44000';
CREATE ROLE regress_ir;
GRANT ALL ON SCHEMA near, far TO regress_ir;
GRANT ALL ON ALL TABLES IN SCHEMA near, far TO regress_ir;
GRANT ALL ON ALL SEQUENCES IN SCHEMA near, far TO regress_ir;
ALTER TABLE near.t ENABLE ROW LEVEL SECURITY;
ALTER TABLE far.t ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON near.t USING (true) WITH CHECK (k < 20100);
CREATE POLICY p ON far.t USING (true) WITH CHECK (k < 20100);
CREATE FUNCTION test.as_other(statement text) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL ROLE regress_ir;
  RETURN QUERY EXECUTE statement;
END $$;
CREATE USER MAPPING FOR regress_ir SERVER shard0 OPTIONS (user 'nobody');
SELECT test.sqlstate('SELECT test.as_other(''INSERT INTO far.t SELECT i FROM generate_series(20101, 20110) i RETURNING k'')');
ALTER TABLE near.t DISABLE ROW LEVEL SECURITY;
ALTER TABLE far.t DISABLE ROW LEVEL SECURITY;
DROP USER MAPPING FOR regress_ir SERVER shard0;
DROP OWNED BY regress_ir;
DROP ROLE regress_ir;
-- prepared, with parameters in the list; in functions
PREPARE far_in(int, int) AS INSERT INTO far.t SELECT i, 'p' FROM generate_series($1, $2) i RETURNING k - $1, tableoid::regclass;
SET plan_cache_mode = force_generic_plan;
BEGIN;
EXECUTE far_in(30001, 30003);
EXECUTE far_in(30004, 30004);
EXECUTE far_in(30005, 30004);
ROLLBACK;
RESET plan_cache_mode;
SET check_function_bodies = off;
CREATE FUNCTION sql_in(a int, b int) RETURNS SETOF int LANGUAGE sql AS $$ INSERT INTO t SELECT i, 'q' FROM generate_series(a, b) i RETURNING k $$;
CREATE FUNCTION into_in(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE result int;
BEGIN INSERT INTO t SELECT i, 'q' FROM generate_series(a, b) i RETURNING k INTO result; RETURN result; END $$;
SELECT same('SELECT sql_in(20001, 23000)');
SELECT same('SELECT into_in(20001, 20001)');
SELECT same('SELECT into_in(20001, 20003)');
SELECT same('SELECT into_in(20001, 20000)');
-- one that stops after the second row has not inserted more
CREATE FUNCTION note_row(i int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN nextval('counter'); END $$;
CREATE FUNCTION two_in(a int, b int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result int;
BEGIN
  INSERT INTO t SELECT i, note_row(i) FROM generate_series(a, b) i RETURNING k INTO result;
EXCEPTION WHEN too_many_rows THEN
  RETURN 'rows: ' || currval('counter') - 1;
END $$;
SELECT same('SELECT two_in(20001, 20010)');
-- old and new row
SELECT CASE WHEN current_setting('server_version_num')::int < 180000 THEN 'same' ELSE left(same(
  'INSERT INTO t AS x SELECT i, ''x'' FROM generate_series(20001, 20100) i RETURNING old.k, old, new.k, new.n, new, old IS NULL'), 4) END;
SELECT CASE WHEN current_setting('server_version_num')::int < 180000 THEN 'same' ELSE left(same(
  'INSERT INTO t AS x SELECT i, ''x'' FROM generate_series(20001, 20100) i RETURNING WITH (new AS n) n.k, n, k'), 4) END;
-- errors name the shard's statement, and nothing is left
CREATE FUNCTION error_in(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE context text; message text; tab text;
BEGIN
  EXECUTE statement;
  RETURN 'none';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, message = MESSAGE_TEXT, tab = TABLE_NAME;
  RETURN format('%s %s: %s, %s', SQLSTATE, tab, message, substring(context FROM 'INSERT INTO \S+'));
END $$;
SELECT error_in('INSERT INTO far.t_1 (k, v) SELECT i, CASE WHEN row_number() OVER () = 700 THEN ''bad'' END FROM generate_series(20001, 23000) i
  WHERE satisfies_hash_partition(''far.t''::regclass, 3, 1, i) RETURNING k');
SELECT left(error_in('INSERT INTO far.t SELECT i, ''x'' FROM generate_series(20001, 23000) i RETURNING 1 / (k - 22000)'), 5);
SELECT left(error_in('INSERT INTO far.t SELECT i, 1 / (i - 22000) FROM generate_series(20001, 23000) i RETURNING k'), 5);
SELECT left(error_in('INSERT INTO far.t SELECT i, ''x'' FROM generate_series(20001, 23000) i RETURNING (k || v)::int'), 5);
SELECT count(*) FROM far.t WHERE k > 20000;
-- the plan says so; a single row, or one that is awaited alone, has the plain plan
EXPLAIN (COSTS OFF) INSERT INTO far.t VALUES (1), (2) RETURNING *;
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO far.t_0 (k) VALUES (1), (2) RETURNING id + k, v;
EXPLAIN (COSTS OFF) INSERT INTO far.t VALUES (1) RETURNING *;
EXPLAIN (COSTS OFF) INSERT INTO far.t VALUES (1), (2) RETURNING random();
EXPLAIN (COSTS OFF) INSERT INTO near.t VALUES (1), (2) RETURNING *;
EXPLAIN (COSTS OFF) WITH w AS (INSERT INTO far.t VALUES (1), (2) RETURNING k) SELECT * FROM w;
-- a batch ends by the number of rows of a table
CREATE FUNCTION batches(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
    IF line ~ 'Batches:' THEN RETURN NEXT trim(line); END IF;
  END LOOP;
END $$;
ALTER SERVER shard0 OPTIONS (ADD batch_size '10');
SELECT batches('INSERT INTO far.t_0 (k) SELECT i FROM generate_series(40001, 42000) i
  WHERE satisfies_hash_partition(''far.t''::regclass, 3, 0, i) LIMIT 95 RETURNING k');
ALTER SERVER shard0 OPTIONS (SET batch_size '1');
SELECT batches('INSERT INTO far.t_0 (k) SELECT i FROM generate_series(43001, 44000) i
  WHERE satisfies_hash_partition(''far.t''::regclass, 3, 0, i) LIMIT 95 RETURNING k');
ALTER SERVER shard0 OPTIONS (DROP batch_size);
SELECT batches('INSERT INTO far.t_0 (k) SELECT i FROM generate_series(45001, 49000) i
  WHERE satisfies_hash_partition(''far.t''::regclass, 3, 0, i) LIMIT 1000 RETURNING k');
-- and by their size
SELECT batches('INSERT INTO far.t_0 (k, v) SELECT i, repeat(''x'', 600000) FROM generate_series(50001, 51000) i
  WHERE satisfies_hash_partition(''far.t''::regclass, 3, 0, i) LIMIT 10 RETURNING k');
-- ... of the rows that come back, as soon as it is known
SELECT batches('INSERT INTO far.u (k) SELECT i FROM generate_series(70001, 70100) i RETURNING k');
UPDATE far.u SET v = repeat('x', 100000) WHERE k > 70000;
ALTER SERVER shard0 OPTIONS (ADD batch_size '20');
ALTER SERVER shard1 OPTIONS (ADD batch_size '20');
SELECT batches('INSERT INTO far.u (k) SELECT i FROM generate_series(70001, 70100) i ON CONFLICT (k) DO UPDATE SET n = 1 RETURNING k')
  = batches('INSERT INTO far.u (k) SELECT i FROM generate_series(70001, 70100) i ON CONFLICT (k) DO UPDATE SET n = 1 RETURNING g') AS alike,
  batches('INSERT INTO far.u (k) SELECT i FROM generate_series(70001, 70100) i ON CONFLICT (k) DO UPDATE SET n = 1 RETURNING v');
ALTER SERVER shard0 OPTIONS (DROP batch_size);
ALTER SERVER shard1 OPTIONS (DROP batch_size);
-- the check of a domain may be volatile
CREATE DOMAIN checked AS int CHECK (random() >= 0 AND value > 0);
SELECT batches('INSERT INTO far.u (k) VALUES (80001), (80002) RETURNING k'), batches('INSERT INTO far.u (k) VALUES (80003), (80004) RETURNING k::checked');
DROP DOMAIN checked;
-- a table that changes on the shard after the statement has been prepared there
PREPARE twice AS INSERT INTO far.u_0 (k, n) VALUES (0, 1), (2, 2) ON CONFLICT (k) DO UPDATE SET n = excluded.n RETURNING k, n;
EXECUTE twice;
EXECUTE twice;
ALTER TABLE s0.u_0 ALTER n TYPE numeric(14,3);
EXECUTE twice;
-- what the plan would meet again has been read before, so rows can wait
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT batches('INSERT INTO far.u (k, id) SELECT o.k + 60000, x.m FROM other o LEFT JOIN LATERAL (SELECT max(k) AS m FROM far.u WHERE k > o.k) x ON true RETURNING k');
RESET enable_hashjoin;
RESET enable_mergejoin;
DROP SCHEMA far CASCADE;
DROP SCHEMA near CASCADE;
DROP TABLE other, logged;
DROP TABLE s0.t_0, s1.t_1, s0.u_0, s1.u_1;
