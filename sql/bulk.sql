-- Claim: many rows reach their shards whatever way they go, and the number that
-- the user is told is the number the shards have.
\set VERBOSITY terse
CREATE TABLE s0.bulk (id int PRIMARY KEY, v text CHECK (v <> 'bad'), n numeric(12,2), ts timestamptz);
CREATE TABLE s1.bulk (LIKE s0.bulk INCLUDING ALL);
CREATE TABLE bulk (id int, v text, n numeric(12,2), ts timestamptz) PARTITION BY HASH (id);
CREATE FOREIGN TABLE bulk_0 PARTITION OF bulk FOR VALUES WITH (MODULUS 2, REMAINDER 0)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'bulk');
CREATE FOREIGN TABLE bulk_1 PARTITION OF bulk FOR VALUES WITH (MODULUS 2, REMAINDER 1)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'bulk');
CREATE VIEW bulk_there AS SELECT 's0' AS shard, * FROM s0.bulk UNION ALL SELECT 's1', * FROM s1.bulk;
CREATE FUNCTION bulk_state() RETURNS text LANGUAGE sql AS $$
  SELECT format('s0 %s, s1 %s, sum %s', (SELECT count(*) FROM s0.bulk),
    (SELECT count(*) FROM s1.bulk), (SELECT sum(id) FROM bulk_there)) $$;
-- runs a statement and returns its number of rows
CREATE FUNCTION rows_of(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  EXECUTE statement;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;
-- few rows, and enough for COPY
SELECT rows_of($$INSERT INTO bulk SELECT i, 'v' || i, i / 3.0, '2026-01-01 UTC'::timestamptz + i * interval '1 min'
  FROM generate_series(1, 7) i$$);
SELECT bulk_state();
SELECT rows_of($$INSERT INTO bulk SELECT i, CASE WHEN i % 10 > 0 THEN 'v' || i END, i / 3.0,
  '2026-01-01 UTC'::timestamptz + i * interval '1 min' FROM generate_series(8, 20000) i$$);
SELECT bulk_state();
SELECT count(*) FROM generate_series(1, 20000) i JOIN bulk_there b ON b.id = i
  WHERE b.v IS NOT DISTINCT FROM CASE WHEN i % 10 > 0 OR i < 8 THEN 'v' || i END
    AND n = round(i / 3.0, 2) AND ts = '2026-01-01 UTC'::timestamptz + i * interval '1 min';
-- each shard has what belongs to it
SELECT count(*) FROM bulk_0 WHERE NOT satisfies_hash_partition('bulk'::regclass, 2, 0, id);
-- errors: in the first rows, in the middle of COPY, at the end, and in the source
CREATE FUNCTION bulk_error(at int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bulk SELECT i, CASE WHEN i = at THEN 'bad' ELSE 'ok' END, 0, now()
    FROM generate_series(30001, 60000) i;
  RETURN 'none';
EXCEPTION WHEN check_violation THEN
  RETURN SQLERRM;
END $$;
SELECT at, bulk_error(at) FROM unnest(ARRAY[30003, 45000, 59999]) at;
SELECT test.sqlstate('INSERT INTO bulk SELECT i, ''ok'', 1 / (40000 - i), now() FROM generate_series(30001, 60000) i');
SELECT test.sqlstate('INSERT INTO bulk SELECT i, ''ok'', 0, now() FROM generate_series(40000, 1, -1) i');
SELECT bulk_state();
INSERT INTO bulk VALUES (20001, 'after errors', 0, now());
SELECT bulk_state();
-- in a transaction that goes on after a savepoint
BEGIN;
INSERT INTO bulk SELECT i, 'kept', 0, now() FROM generate_series(100001, 103000) i;
SAVEPOINT s;
INSERT INTO bulk SELECT i, 'lost', 0, now() FROM generate_series(103001, 106000) i;
INSERT INTO bulk SELECT i, 'bad', 0, now() FROM generate_series(106001, 109000) i;
ROLLBACK TO s;
INSERT INTO bulk SELECT i, 'kept', 0, now() FROM generate_series(109001, 112000) i;
SELECT v, count(*) FROM bulk WHERE id > 100000 GROUP BY v;
COMMIT;
SELECT v, count(*) FROM bulk_there WHERE id > 100000 GROUP BY v;
DELETE FROM bulk WHERE id > 100000;
-- a trigger on the shard leaves rows out
CREATE FUNCTION s0.every_third() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN IF NEW.id % 3 = 0 THEN RETURN NULL; END IF; RETURN NEW; END $$;
CREATE TRIGGER every_third BEFORE INSERT ON s0.bulk FOR EACH ROW EXECUTE FUNCTION s0.every_third();
CREATE TRIGGER every_third BEFORE INSERT ON s1.bulk FOR EACH ROW EXECUTE FUNCTION s0.every_third();
TRUNCATE bulk;
SELECT rows_of('INSERT INTO bulk SELECT i, ''x'' FROM generate_series(1, 9) i');
SELECT rows_of('INSERT INTO bulk SELECT i, ''x'' FROM generate_series(10, 9999) i');
SELECT bulk_state();
\set QUIET off
INSERT INTO bulk VALUES (10000, 'x'), (10002, 'x'), (10003, 'x');
COPY bulk (id, v) FROM STDIN WITH (FORMAT csv);
20001,x
20002,x
20003,x
20004,x
\.
INSERT INTO bulk SELECT i, 'x' FROM generate_series(10010, 14997) i;
COPY bulk (id) FROM PROGRAM 'seq 30001 34997';
\set QUIET on
SELECT bulk_state();
DROP TRIGGER every_third ON s0.bulk;
DROP TRIGGER every_third ON s1.bulk;
-- only the rows of the statement itself are counted
WITH inserted AS (INSERT INTO bulk SELECT i, 'cte' FROM generate_series(40001, 42000) i)
  INSERT INTO bulk SELECT i, 'main' FROM generate_series(50001, 50003) i;
SELECT v, count(*) FROM bulk_there WHERE v IN ('cte', 'main') GROUP BY v ORDER BY v;
-- conflicts that are ignored
SELECT rows_of('INSERT INTO bulk SELECT i, ''new'' FROM generate_series(40001, 44000) i ON CONFLICT DO NOTHING');
-- several tables on one shard take turns
CREATE TABLE many (id int, v text) PARTITION BY HASH (id);
DO $$ BEGIN
  FOR p IN 0..5 LOOP
    EXECUTE format('CREATE TABLE s%s.many_%s (id int PRIMARY KEY, v text)', p % 2, p);
    EXECUTE format('CREATE FOREIGN TABLE many_%s PARTITION OF many FOR VALUES WITH (MODULUS 6, REMAINDER %1$s)
      SERVER shard%s OPTIONS (schema_name ''s%2$s'')', p, p % 2);
  END LOOP;
END $$;
SELECT rows_of('INSERT INTO many SELECT i, repeat(''x'', 100) FROM generate_series(1, 30000) i');
SELECT count(*), sum(id), count(DISTINCT tableoid) FROM many;
-- a function that reads and writes the same shard while rows go there
CREATE FUNCTION many_seen(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF i % 1000 <> 0 THEN RETURN 'plain'; END IF;
  BEGIN
    UPDATE many SET v = 'seen' WHERE id = i - 1;
    IF i % 2000 = 0 THEN RAISE division_by_zero; END IF;
  EXCEPTION WHEN division_by_zero THEN
    RETURN 'undone';
  END;
  RETURN (SELECT count(*) FROM many WHERE id > 100000);
END $$;
SELECT rows_of('INSERT INTO many SELECT i, many_seen(i) FROM generate_series(100001, 110000) i');
SELECT v, count(*) FROM many WHERE id > 100000 GROUP BY v ORDER BY v;
-- from the shards to the shards
SELECT rows_of('INSERT INTO many SELECT id + 200000, v FROM many');
SELECT count(*), sum(id) FROM many;
-- a function that inserts many rows while many rows are inserted
CREATE FUNCTION many_more(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF i % 2000 = 0 THEN
    INSERT INTO many SELECT i * 1000 + j, 'inner' FROM generate_series(1, 999) j;
  END IF;
  RETURN 'outer';
END $$;
SELECT rows_of('INSERT INTO many SELECT i, many_more(i) FROM generate_series(500001, 508000) i');
SELECT v, count(*) FROM many WHERE v IN ('inner', 'outer') GROUP BY v ORDER BY v;
-- local triggers
CREATE FUNCTION log_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_WHEN = 'BEFORE' THEN NEW.v := NEW.v || '!'; RETURN NEW; END IF;
  INSERT INTO logged VALUES (NEW.id, NEW.v);
  RETURN NULL;
END $$;
CREATE TABLE logged (id int, v text);
TRUNCATE many;
CREATE TRIGGER t BEFORE INSERT ON many_0 FOR EACH ROW EXECUTE FUNCTION log_row();
SELECT rows_of('INSERT INTO many SELECT i, ''t'' FROM generate_series(1, 6000) i');
SELECT v, count(*) BETWEEN 900 AND 1100, tableoid::regclass = 'many_0'::regclass FROM many
  WHERE tableoid IN ('many_0'::regclass, 'many_1'::regclass) GROUP BY v, tableoid ORDER BY v;
CREATE TRIGGER a AFTER INSERT ON many_1 FOR EACH ROW EXECUTE FUNCTION log_row();
SELECT rows_of('INSERT INTO many SELECT i, ''t'' FROM generate_series(6001, 6600) i');
SELECT count(*) = (SELECT count(*) FROM many_1 WHERE id > 6000) FROM logged;
-- what COPY would do otherwise than INSERT is not done by COPY
CREATE TABLE s0.special (id int GENERATED ALWAYS AS IDENTITY, v text);
CREATE FOREIGN TABLE special (id int, v text) SERVER shard0 OPTIONS (schema_name 's0');
SELECT test.sqlstate('INSERT INTO special SELECT i, ''x'' FROM generate_series(1, 3000) i');
DROP TABLE s0.special;
CREATE TABLE s0.special_base (id bigint, v varchar(5), hidden int DEFAULT 7);
CREATE VIEW s0.special AS SELECT id, v FROM s0.special_base;
SELECT rows_of('INSERT INTO special SELECT i, ''x'' FROM generate_series(1, 3000) i');
DROP VIEW s0.special;
ALTER TABLE s0.special_base RENAME TO special;
SELECT rows_of('INSERT INTO special SELECT i, ''x'' FROM generate_series(1, 3000) i');
SELECT test.sqlstate('INSERT INTO special SELECT i, repeat(''x'', i / 500) FROM generate_series(1, 3000) i');
SELECT count(*), sum(id), sum(hidden) FROM s0.special;
-- types that have no binary form every server knows: text; and special characters
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE s0.types (id int, m mood, a text[], t text, f float8, b bytea, j jsonb, i interval, r regclass, c "char");
CREATE TABLE s1.types (LIKE s0.types);
ALTER TABLE s1.types DROP COLUMN m, DROP COLUMN r;
CREATE FOREIGN TABLE types_0 (id int, m mood, a text[], t text, f float8, b bytea, j jsonb, i interval, r regclass, c "char")
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'types');
CREATE FOREIGN TABLE types_1 (id int, a text[], t text, f float8, b bytea, j jsonb, i interval, c "char")
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'types');
CREATE TABLE types AS SELECT g AS id, CASE WHEN g % 2 = 0 THEN 'low' ELSE 'high' END::mood AS m,
    ARRAY['a', NULL, E'q"\\,', 'ü' || g] AS a, E'tab\t nl\n cr\r bs\\ \\. \u00fc' || g AS t, g / 7.0::float8 AS f,
    decode(to_hex(g % 200 + 16), 'hex') AS b, jsonb_build_object('k', g, 'ü', NULL) AS j,
    g * interval '1 day 3 sec' AS i, CASE WHEN g % 3 > 0 THEN 'pg_class'::regclass END AS r, 'x'::"char" AS c
  FROM generate_series(1, 3000) g;
SET datestyle = 'German';
SET intervalstyle = 'iso_8601';
SET extra_float_digits = 0;
INSERT INTO types_0 SELECT * FROM types;
INSERT INTO types_1 SELECT id, a, t, f, b, j, i, c FROM types;
SELECT count(*) FROM (SELECT * FROM types EXCEPT SELECT * FROM s0.types) d;
SELECT count(*) FROM (SELECT id, a, t, f, b, j, i, c FROM types EXCEPT SELECT * FROM s1.types) d;
RESET datestyle;
RESET intervalstyle;
RESET extra_float_digits;
-- a client with another encoding than the database
SET client_encoding = 'LATIN1';
TRUNCATE types_0, types_1;
INSERT INTO types_0 SELECT * FROM types;
INSERT INTO types_1 SELECT id, a, t, f, b, j, i, c FROM types;
RESET client_encoding;
SELECT count(*) FROM (SELECT * FROM types EXCEPT SELECT * FROM s0.types) d;
SELECT count(*) FROM (SELECT id, a, t, f, b, j, i, c FROM types EXCEPT SELECT * FROM s1.types) d;
-- wide rows, and more columns than one statement can have parameters for
TRUNCATE many;
DROP TRIGGER t ON many_0;
DROP TRIGGER a ON many_1;
INSERT INTO many SELECT i, repeat(md5(i::text), 30000) FROM generate_series(1, 30) i;
SELECT count(*), sum(length(v)), count(DISTINCT v) FROM many;
-- small batches, and none
ALTER FOREIGN TABLE many_0 OPTIONS (ADD batch_size '7');
ALTER FOREIGN TABLE many_1 OPTIONS (ADD batch_size '1');
TRUNCATE many;
SELECT rows_of('INSERT INTO many SELECT i, ''b'' FROM generate_series(1, 3000) i');
SELECT count(*), sum(id) FROM many;
-- UPDATE and DELETE of many rows that the coordinator has to look at
ALTER FOREIGN TABLE many_0 OPTIONS (DROP batch_size);
SELECT rows_of('UPDATE many SET v = ''u'' || id WHERE test.here(id % 2 = 0)');
SELECT count(*) FROM many WHERE v = 'u' || id;
SELECT rows_of('UPDATE many m SET v = v || ''!'' FROM generate_series(1, 10) g WHERE test.here(m.id <= 100)');
SELECT count(*) FROM many WHERE v LIKE '%!' AND v NOT LIKE '%!!';
SELECT rows_of('DELETE FROM many WHERE test.here(id % 3 = 0)');
SELECT count(*), sum(id) FROM many;
ALTER TABLE s0.many_2 ADD CHECK (v <> 'bad');
SELECT test.sqlstate('UPDATE many SET v = CASE WHEN test.here(id > 1000) THEN ''bad'' ELSE ''ok'' END');
SELECT count(*) FROM many WHERE v IN ('ok', 'bad');
CREATE FUNCTION s0.not_every_fourth() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.id % 4 = 0 THEN RETURN NULL; ELSIF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER every_fourth BEFORE UPDATE OR DELETE ON s0.many_2 FOR EACH ROW EXECUTE FUNCTION s0.not_every_fourth();
SELECT rows_of('UPDATE many_2 SET v = ''t'' WHERE test.here(true)') AS n \gset
SELECT :n = count(*) FILTER (WHERE v = 't'), :n = count(*) FILTER (WHERE id % 4 <> 0), :n < count(*) FROM many_2;
SELECT rows_of('DELETE FROM many WHERE test.here(true)') AS n \gset
SELECT :n + count(*), count(*) > 0, bool_and(id % 4 = 0) FROM many;
DROP TRIGGER every_fourth ON s0.many_2;
-- (they go together, where the shard has the same types)
ALTER FOREIGN TABLE many_1 OPTIONS (DROP batch_size);
TRUNCATE many;
INSERT INTO many SELECT i, 'w' || i FROM generate_series(1, 12000) i;
SELECT sum(statements) AS before FROM shard_fdw.stat_shards \gset
SELECT rows_of($$UPDATE many SET v = CASE WHEN id % 3 > 0 THEN E'ü"\\,{' || id END WHERE test.here(true)$$);
SELECT sum(statements) - :before < 3000 AS are_few FROM shard_fdw.stat_shards;
SELECT count(*) FILTER (WHERE v = E'ü"\\,{' || id), count(*) FILTER (WHERE v IS NULL) FROM many;
SELECT rows_of('UPDATE many m SET v = ''x'' FROM generate_series(1, 2) g WHERE test.here(m.id <= 6000)');
SELECT sum(statements) AS before FROM shard_fdw.stat_shards \gset
SELECT rows_of('DELETE FROM many m USING generate_series(1, 2) g WHERE test.here(m.id <= 6000)');
SELECT sum(statements) - :before < 1500 AS are_few FROM shard_fdw.stat_shards;
SELECT count(*), sum(id) FROM many;
ALTER TABLE s1.many_1 ALTER id TYPE bigint, ALTER v TYPE varchar(10);
SELECT rows_of('UPDATE many SET v = ''y'', id = id WHERE test.here(id % 2 = 0)');
SELECT v, count(*) FROM many WHERE v = 'y' GROUP BY v;
SELECT test.sqlstate('UPDATE many SET v = CASE WHEN id < 11000 THEN ''fits'' ELSE ''does not fit'' END WHERE test.here(true)');
SELECT test.sqlstate('UPDATE many SET v = CASE WHEN id < 11500 THEN ''ok'' ELSE ''bad'' END WHERE test.here(true)');
SELECT count(*) FROM many WHERE v IN ('fits', 'ok', 'bad');
CREATE TABLE s0.wide AS SELECT i AS id, ARRAY[i, NULL] AS a, ARRAY['a', NULL] AS t, i * interval '1 day' AS d,
  '(1,2)'::point AS p, true AS b, i / 3.0 AS n FROM generate_series(1, 2000) i;
CREATE FOREIGN TABLE wide (id int, a int[], t text[], d interval, p point, b boolean, n numeric)
  SERVER shard0 OPTIONS (schema_name 's0');
SELECT rows_of($$UPDATE wide SET a = a || id, t = t || ARRAY['"{}', NULL], d = d * 2, p = NULL, b = NOT b, n = n * 3
  WHERE test.here(true)$$);
SELECT count(*) FROM s0.wide WHERE a = ARRAY[id, NULL, id] AND t = ARRAY['a', NULL, '"{}', NULL] AND d = id * interval '2 days'
  AND p IS NULL AND NOT b AND n = (id / 3.0) * 3;
DROP FOREIGN TABLE wide;
DROP TABLE s0.wide;
SELECT test.settled();
DROP FUNCTION bulk_state(), rows_of(text), bulk_error(int), many_seen(int), many_more(int);
DROP FUNCTION log_row() CASCADE;
DROP VIEW bulk_there;
DROP FOREIGN TABLE special, types_0, types_1;
DROP TABLE bulk, many, s0.bulk, s1.bulk, s0.special, s0.types, s1.types, types, logged,
  s0.many_0, s1.many_1, s0.many_2, s1.many_3, s0.many_4, s1.many_5;
DROP TYPE mood;
DROP FUNCTION s0.every_third(), s0.not_every_fourth();
