-- Claim: a query over foreign tables returns what the same query over the
-- remote tables returns, whatever part of it the shard evaluates.
\set VERBOSITY terse
CREATE TYPE scan_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE scan_pair AS (x int, y text);
CREATE DOMAIN scan_positive AS int CHECK (VALUE > 0);
CREATE TABLE s0.scan_types (
  id int PRIMARY KEY, i2 smallint, i8 bigint, f4 real, f8 double precision,
  n numeric, b boolean, t text, v varchar(10), c char(5), by bytea, d date,
  tm time, ts timestamp, tz timestamptz, iv interval, u uuid, j json, jb jsonb,
  ia int[], ta text[], r int4range, m scan_mood, p scan_pair, dm scan_positive,
  ip inet, bt bit varying(8), cl "char", nm name, rc regclass);
INSERT INTO s0.scan_types VALUES
  (1, -32768, 9223372036854775807, 0.1, 0.30000000000000004, 12345678901234567890.0123456789,
   true, E'tab\there "quoted" \\ back', 'varchar', 'ch', '\x00ff5c27', '2024-02-29',
   '23:59:59.999999', '2024-02-29 12:00:00.000001', '2024-02-29 12:00:00.000001+00',
   '1 year 2 mons -3 days 04:05:06.789', '00000000-0000-0000-0000-000000000001',
   '{"a": [1, 2]}', '{"b": null}', '{1,NULL,3}', '{"a,b",NULL,"c\"d"}', '[1,5)',
   'happy', '(7,"seven, ""7""")', 1, '10.0.0.1/8', B'101', 'x', 'pg_class', 's0.scan_types'),
  (2, 32767, -9223372036854775808, 'NaN', '-Infinity', 'NaN', false, '', '', '',
   '\x', '0044-03-15 BC', '00:00', '-infinity', 'infinity', '0', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
   '[]', '[]', '{}', '{}', 'empty', 'sad', '(,)', 2147483647, '::1', B'', '', '', 'pg_catalog.pg_class');
INSERT INTO s0.scan_types (id) VALUES (3);
CREATE FOREIGN TABLE scan_types (
  id int, i2 smallint, i8 bigint, f4 real, f8 double precision,
  n numeric, b boolean, t text, v varchar(10), c char(5), by bytea, d date,
  tm time, ts timestamp, tz timestamptz, iv interval, u uuid, j json, jb jsonb,
  ia int[], ta text[], r int4range, m scan_mood, p scan_pair, dm scan_positive,
  ip inet, bt bit varying(8), cl "char", nm name, rc regclass)
  SERVER shard0 OPTIONS (schema_name 's0');
-- every type arrives as it is stored
SELECT count(*) AS equal FROM s0.scan_types stored JOIN scan_types arrived
  ON stored.id = arrived.id AND stored::text = arrived::text;
\x on
SELECT * FROM scan_types ORDER BY id;
\x off
-- styles of this session do not reach the shard, or come back from it
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'sql_standard';
SET extra_float_digits = -5;
SET bytea_output = 'escape';
SET timezone = 'Asia/Kathmandu';
SELECT count(*) AS equal FROM s0.scan_types stored JOIN scan_types arrived
  ON stored.id = arrived.id AND stored::text = arrived::text;
SELECT id FROM scan_types WHERE d = '29/02/2024' AND tz = '29/02/2024 17:45:00.000001'
  AND iv = interval '1 year 2 mons -3 days 04:05:06.789' AND f8 = 0.30000000000000004;
SELECT id FROM scan_types WHERE f8::text = '0.3' AND by::text NOT LIKE '\\x%';
RESET datestyle;
RESET intervalstyle;
RESET extra_float_digits;
RESET bytea_output;
RESET timezone;
-- conditions of every type find their row
SELECT id FROM scan_types WHERE i2 = -32768;
SELECT id FROM scan_types WHERE i8 = 9223372036854775807;
SELECT id FROM scan_types WHERE f4 = 0.1::real;
SELECT id FROM scan_types WHERE n = 'NaN';
SELECT id FROM scan_types WHERE b;
SELECT id FROM scan_types WHERE NOT b;
SELECT id FROM scan_types WHERE b IS NULL;
SELECT id FROM scan_types WHERE t = E'tab\there "quoted" \\ back';
SELECT id FROM scan_types WHERE t = '';
SELECT id FROM scan_types WHERE c = 'ch';
SELECT id FROM scan_types WHERE by = '\x00ff5c27';
SELECT id FROM scan_types WHERE d < '2000-01-01';
SELECT id FROM scan_types WHERE tz = 'infinity';
SELECT id FROM scan_types WHERE u > '00000000-0000-0000-0000-000000000001' ORDER BY id;
SELECT id FROM scan_types WHERE jb ? 'b';
SELECT id FROM scan_types WHERE ia[1] = 1;
SELECT id FROM scan_types WHERE 3 = ANY (ia);
SELECT id FROM scan_types WHERE ta @> ARRAY['a,b'];
SELECT id FROM scan_types WHERE r @> 4;
SELECT id FROM scan_types WHERE m > 'ok';
SELECT id FROM scan_types WHERE (p).x = 7;
SELECT id FROM scan_types WHERE dm = 2147483647;
SELECT id FROM scan_types WHERE rc = 's0.scan_types'::regclass;
SELECT id FROM scan_types WHERE id IN (1, 3) AND t IS DISTINCT FROM '' ORDER BY id;
SELECT id FROM scan_types WHERE CASE WHEN id = 2 THEN f8 < 0 ELSE i2 IS NULL END ORDER BY id;
SELECT id FROM scan_types WHERE coalesce(v, 'none') = 'none';
SELECT id FROM scan_types WHERE (id, i2) > (1, 0::smallint) ORDER BY id;
-- half of the condition here, half there
SELECT id FROM scan_types WHERE id < 3 AND test.here(b);
SELECT id FROM scan_types WHERE test.here(id = 3) OR id = 1 ORDER BY id;
-- partitions on two shards
CREATE TABLE s0.scan_p (k int, v text);
CREATE TABLE s1.scan_p (v text, dropped int, k int);
ALTER TABLE s1.scan_p DROP COLUMN dropped;
CREATE TABLE scan_p (k int, v text) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE scan_p0 PARTITION OF scan_p FOR VALUES FROM (0) TO (1000)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'scan_p');
CREATE FOREIGN TABLE scan_p1 (gone int, v text, k int)
  SERVER shard1 OPTIONS (schema_name 's1', table_name 'scan_p');
ALTER FOREIGN TABLE scan_p1 DROP COLUMN gone;
ALTER TABLE scan_p ATTACH PARTITION scan_p1 FOR VALUES FROM (1000) TO (5000);
INSERT INTO s0.scan_p SELECT i, 'v' || i FROM generate_series(0, 999) i;
INSERT INTO s1.scan_p SELECT 'v' || i, i FROM generate_series(1000, 4999) i;
SELECT count(*), sum(k), min(v), max(v) FROM scan_p;
SELECT tableoid::regclass, count(*) FROM scan_p GROUP BY 1 ORDER BY 1;
SELECT * FROM scan_p WHERE k IN (5, 2005) ORDER BY k;
SELECT k FROM scan_p ORDER BY k DESC LIMIT 3;
SELECT k FROM scan_p ORDER BY k OFFSET 998 LIMIT 4;
SELECT scan_p FROM scan_p WHERE k IN (7, 1007) ORDER BY k;
SELECT count(*) FROM scan_p WHERE k < 10 AND k > 20;
SELECT count(*) FROM scan_p WHERE v LIKE 'v99%';
SELECT count(*) FROM (SELECT FROM scan_p) q;
SELECT count(*) FROM scan_p WHERE scan_p IS NULL;
SELECT tableoid::regclass, k FROM scan_p WHERE tableoid = 'scan_p1'::regclass ORDER BY k LIMIT 1;
-- joins, and several scans over the same connection
SELECT count(*) FROM scan_p a JOIN scan_p b USING (k) WHERE a.k % 10 = 0;
SELECT count(*) FROM scan_p a JOIN scan_p b ON b.k = a.k + 1000;
SELECT count(*), count(b.k) FROM scan_p a LEFT JOIN scan_p0 b ON b.k = a.k - 4500;
SELECT count(*) FROM scan_p0 a, scan_p0 b WHERE a.k < 30 AND b.k < 30 AND test.here(a.k = b.k);
SELECT count(*) FROM scan_p a WHERE EXISTS (SELECT FROM scan_p b WHERE b.k = a.k * 2 AND b.k > 4000);
SELECT count(*) FROM scan_p a WHERE NOT EXISTS (SELECT FROM scan_p b WHERE b.k = a.k + 1);
SELECT (SELECT v FROM scan_p0 WHERE k = 3), (SELECT v FROM scan_p1 WHERE k = 3000),
  (SELECT count(*) FROM scan_p0);
SELECT k, (SELECT count(*) FROM scan_p b WHERE b.k BETWEEN a.k AND a.k + 2)
  FROM scan_p a WHERE k IN (1, 998, 999, 4998) ORDER BY k;
SELECT count(*) FROM (SELECT k FROM scan_p UNION ALL SELECT k FROM scan_p0
  UNION ALL SELECT -k FROM scan_p1) q;
WITH RECURSIVE walk(k) AS (SELECT 1 UNION ALL
  SELECT p.k FROM scan_p p, walk w WHERE p.k = w.k * 3)
  SELECT * FROM walk;
WITH a AS MATERIALIZED (SELECT k FROM scan_p WHERE k % 500 = 0),
  b AS MATERIALIZED (SELECT k FROM scan_p WHERE k % 700 = 0)
  SELECT k FROM a JOIN b USING (k) ORDER BY k;
SELECT x, y FROM generate_series(998, 1001) x,
  LATERAL (SELECT k AS y FROM scan_p WHERE k >= x ORDER BY k LIMIT 2) q ORDER BY 1, 2;
-- nested loops that scan the inner side again and again, stopped early
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SELECT count(*) FROM generate_series(1, 5) g LEFT JOIN scan_p p ON p.k = g * 900;
SELECT g FROM generate_series(1, 3) g WHERE EXISTS (SELECT FROM scan_p WHERE k > g * 1500);
SELECT count(*) FROM scan_p a JOIN scan_p0 b ON test.here(a.k = b.k) WHERE a.k < 20 AND b.k < 20;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;
-- cursors, forwards and backwards, several at once
BEGIN;
DECLARE one CURSOR FOR SELECT k FROM scan_p ORDER BY k;
DECLARE two SCROLL CURSOR FOR SELECT k FROM scan_p ORDER BY k DESC;
FETCH 2 FROM one;
FETCH 2 FROM two;
MOVE 3000 FROM one;
FETCH 1 FROM one;
MOVE LAST FROM two;
FETCH BACKWARD 2 FROM two;
SELECT count(*) FROM scan_p0;
FETCH 1 FROM one;
CLOSE one;
FETCH FIRST FROM two;
COMMIT;
-- no columns, no rows
CREATE TABLE s0.scan_empty ();
CREATE FOREIGN TABLE scan_empty () SERVER shard0 OPTIONS (schema_name 's0');
SELECT count(*) FROM scan_empty;
INSERT INTO scan_empty DEFAULT VALUES;
INSERT INTO scan_empty SELECT FROM generate_series(1, 4);
SELECT count(*) FROM scan_empty;
SELECT EXISTS (SELECT FROM scan_empty), scan_empty FROM scan_empty LIMIT 1;
-- rows so wide that a row is larger than a network packet
CREATE TABLE s0.scan_wide (id int, t text);
CREATE FOREIGN TABLE scan_wide (id int, t text) SERVER shard0 OPTIONS (schema_name 's0');
INSERT INTO scan_wide SELECT i, repeat(chr(96 + i), i * 100000) FROM generate_series(1, 10) i;
SELECT id, length(t), md5(t) = md5(repeat(chr(96 + id), id * 100000)) AS same
  FROM scan_wide ORDER BY id;
-- locking clauses
BEGIN;
SELECT k FROM scan_p WHERE k IN (1, 2000) ORDER BY k FOR UPDATE;
SELECT k FROM scan_p0 WHERE k = 1 FOR SHARE;
SELECT a.k FROM scan_p0 a, scan_p1 b WHERE a.k = 3 AND b.k = 1003 FOR UPDATE OF a;
SELECT k FROM scan_p0 WHERE k = 4 FOR UPDATE NOWAIT;
SELECT k FROM scan_p0 WHERE k = 5 FOR UPDATE SKIP LOCKED;
COMMIT;
-- ANALYZE gets real statistics
ANALYZE scan_p0;
ANALYZE scan_p;
SELECT relname, reltuples FROM pg_class WHERE oid IN ('scan_p0'::regclass, 'scan_p'::regclass) ORDER BY 1;
SELECT tablename, attname, n_distinct FROM pg_stats
  WHERE schemaname = 'public' AND tablename IN ('scan_p0', 'scan_p') ORDER BY 1, 2;
DROP FOREIGN TABLE scan_types, scan_empty, scan_wide;
DROP TABLE scan_p, s0.scan_p, s1.scan_p, s0.scan_types, s0.scan_empty, s0.scan_wide;
DROP DOMAIN scan_positive;
DROP TYPE scan_pair;
DROP TYPE scan_mood;
