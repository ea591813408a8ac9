-- Claim: rows that come in the binary format are the rows that come as text,
-- and where they cannot come in it they come as text by themselves.
\set VERBOSITY terse
CREATE DOMAIN bin_short AS varchar(4) CHECK (VALUE <> 'bad');
CREATE TABLE s0.bin (
  id int PRIMARY KEY, i2 smallint, i8 bigint, o oid, f4 real, f8 double precision,
  n numeric, n2 numeric(10,2), b boolean, t text, v varchar, v9 varchar(9), c char(5),
  nm name, ch "char", by bytea, d date, tm time, tz timetz, ts timestamp,
  tst timestamptz, ts0 timestamptz(0), iv interval, iv2 interval minute, u uuid, j json, jb jsonb,
  ip inet, ci cidr, mac macaddr, bt bit(3), vb varbit(8), pt point, bx box, lsn pg_lsn,
  ia int[], na numeric[], ua uuid[], r int4range, tr tstzrange, dm bin_short);
INSERT INTO s0.bin VALUES
  (1, -32768, 9223372036854775807, 4294967295, 0.1, 0.30000000000000004,
   12345678901234567890.0123456789, 1.10, true, E'tab\there é €', 'varchar', 'nine', 'ch',
   'name', 'x', '\x00ff5c27', '2024-02-29', '23:59:59.999999', '01:02:03+04',
   '2024-02-29 12:00:00.000001', '2024-02-29 12:00:00.000001+00', '2024-02-29 12:00:01+00',
   '1 year 2 mons -3 days 04:05:06.789', '3:04', '00000000-0000-0000-0000-000000000001',
   '{"a": [1,  2]}', '{"b": null, "é": 1}', '10.0.0.1/8', '10.0.0.0/8', '08:00:2b:01:02:03',
   B'101', B'1', '(1,2.5)', '((1,1),(0,0))', '16/B374D848',
   '{{1,NULL},{3,4}}', '{1.5,NaN}', '{00000000-0000-0000-0000-000000000001}', '[1,5)',
   '[2024-01-01 00:00:00+00,)', 'abcd'),
  (2, 32767, -9223372036854775808, 0, 'NaN', '-Infinity', 'NaN', 'NaN', false, '', '', '', '',
   '', '', '\x', '-infinity', '24:00', '00:00+15', '-infinity', 'infinity', '-infinity', '0', '0',
   'ffffffff-ffff-ffff-ffff-ffffffffffff', '[]', '[]', '::1', '::/0', 'ff:ff:ff:ff:ff:ff',
   B'000', B'', '(Infinity,-Infinity)', '((0,0),(0,0))', '0/0', '{}', '{}', '{}', 'empty', 'empty', '');
INSERT INTO s0.bin VALUES
  (3, 0, 0, 1, '-0', '-0', '-0.00', 0, NULL, 'x', 'y', 'z', 'w', 'v', 'z', '\x0a', '4713-01-01 BC',
   '00:00', '12:00-12', '4713-01-01 00:00 BC', '294276-12-31 23:59:59.999999+00', '2000-01-01+00');
INSERT INTO s0.bin (id) VALUES (4);
CREATE FOREIGN TABLE bin (
  id int, i2 smallint, i8 bigint, o oid, f4 real, f8 double precision,
  n numeric, n2 numeric(10,2), b boolean, t text, v varchar, v9 varchar(9), c char(5),
  nm name, ch "char", by bytea, d date, tm time, tz timetz, ts timestamp,
  tst timestamptz, ts0 timestamptz(0), iv interval, iv2 interval minute, u uuid, j json, jb jsonb,
  ip inet, ci cidr, mac macaddr, bt bit(3), vb varbit(8), pt point, bx box, lsn pg_lsn,
  ia int[], na numeric[], ua uuid[], r int4range, tr tstzrange, dm bin_short)
  SERVER shard0 OPTIONS (schema_name 's0');
SELECT count(*) AS equal FROM s0.bin stored JOIN bin arrived
  ON stored.id = arrived.id AND stored::text = arrived::text;
SET shard_fdw.binary_results = off;
CREATE TABLE bin_as_text AS SELECT * FROM bin;
RESET shard_fdw.binary_results;
SELECT count(*) AS equal FROM bin_as_text stored JOIN bin arrived
  ON stored.id = arrived.id AND stored::text = arrived::text;
-- also through a cursor, and with the row's identity
SELECT count(*) AS equal FROM bin x JOIN bin y ON x::text = y::text
  WHERE x.t IS NOT DISTINCT FROM y.t;
SELECT ctid = (SELECT ctid FROM s0.bin WHERE id = 2) AS same FROM bin WHERE id = 2;
-- texts are not converted from the encoding that the user has chosen
SET client_encoding = LATIN1;
SELECT count(*) AS equal FROM s0.bin stored JOIN bin arrived
  ON stored.id = arrived.id AND stored.t = arrived.t AND stored.jb = arrived.jb;
RESET client_encoding;
-- a column of another type than the shard's
CREATE TYPE bin_mood AS ENUM ('sad', 'ok');
CREATE TABLE s0.bin_other (id int, i4 int, t text, m bin_mood, ts timestamptz, c char(4));
INSERT INTO s0.bin_other VALUES (1, 42, '7', 'ok', '2024-02-29 12:00+00', 'c'),
  (2, NULL, NULL, NULL, NULL, NULL);
CREATE FOREIGN TABLE bin_other (id bigint, i4 numeric, t int, m text, ts text, c text)
  SERVER shard0 OPTIONS (schema_name 's0');
SELECT id, i4, t, '[' || c || ']' AS c FROM bin_other ORDER BY id;
SELECT id, m FROM bin_other ORDER BY id;
SELECT id, m FROM bin_other ORDER BY id;
SELECT m, ts FROM bin_other ORDER BY id;
BEGIN;
SELECT ts FROM bin_other ORDER BY id;
SELECT a.ts, b.m FROM bin_other a LEFT JOIN bin_other b ON b.ts = a.ts ORDER BY a.id;
COMMIT;
-- what the shard has no binary form for: at once alone, and first in a block
CREATE TABLE s0.bin_acl (id int, a aclitem, b aclitem);
INSERT INTO s0.bin_acl SELECT 1, makeaclitem(10, 10, 'SELECT', false), NULL;
CREATE FOREIGN TABLE bin_acl (id int, a text, b text) SERVER shard0 OPTIONS (schema_name 's0');
SELECT id, a IS NOT NULL AS a FROM bin_acl;
BEGIN;
SELECT id, b FROM bin_acl;
ROLLBACK;
BEGIN;
SELECT id, b FROM bin_acl;
COMMIT;
-- what does not fit the column's type, or its domain, is refused as ever
ALTER FOREIGN TABLE bin_other ALTER t TYPE boolean, ALTER m TYPE varchar(1);
SELECT t FROM bin_other WHERE id = 1;
SELECT m FROM bin_other WHERE id = 1;
CREATE TABLE s0.bin_domain (v text);
INSERT INTO s0.bin_domain VALUES ('bad');
CREATE FOREIGN TABLE bin_domain (v bin_short) SERVER shard0 OPTIONS (schema_name 's0');
SELECT * FROM bin_domain;
UPDATE s0.bin_domain SET v = 'long one';
SELECT * FROM bin_domain;
UPDATE s0.bin_domain SET v = 'ok';
SELECT * FROM bin_domain;
-- rows that had to be set aside keep their types
CREATE TABLE s0.bin_many AS SELECT i AS id, i::numeric AS n, 'text ' || i AS t, i::bin_short AS d
  FROM generate_series(1, 3000) i;
CREATE FOREIGN TABLE bin_many (id int, n bigint, t text, d bin_short)
  SERVER shard0 OPTIONS (schema_name 's0');
SET work_mem = '64kB';
DO $$
DECLARE
  row bin_many;
  good int := 0;
  other int;
BEGIN
  FOR row IN SELECT * FROM bin_many LOOP
    IF row.id % 1000 = 1 THEN
      SELECT count(*) INTO other FROM bin_many;
    END IF;
    IF row.n = row.id AND row.t = 'text ' || row.id AND row.d = row.id::text THEN
      good := good + 1;
    END IF;
  END LOOP;
  RAISE NOTICE '% of % rows', good, other;
END $$;
RESET work_mem;
-- a prepared statement does not fit the table any more, or has been lost
CREATE FUNCTION s0.bin_forget() RETURNS text LANGUAGE plpgsql AS
  $$ BEGIN DEALLOCATE ALL; RETURN 'forgotten'; END $$;
CREATE VIEW s0.bin_forget AS SELECT s0.bin_forget() AS word;
CREATE FOREIGN TABLE bin_forget (word text) SERVER shard0 OPTIONS (schema_name 's0');
SELECT id, t FROM bin_domain, LATERAL (SELECT 1 AS id, v AS t) x;
SELECT id, t FROM bin_domain, LATERAL (SELECT 1 AS id, v AS t) x;
SELECT id, t FROM bin_domain, LATERAL (SELECT 1 AS id, v AS t) x;
ALTER TABLE s0.bin_domain ALTER v TYPE varchar(7);
SELECT * FROM bin_domain;
SELECT * FROM bin_domain;
SELECT * FROM bin_domain;
ALTER TABLE s0.bin_domain ALTER v TYPE name;
BEGIN;
SELECT * FROM bin_domain;
ROLLBACK;
BEGIN;
SELECT * FROM bin_domain;
COMMIT;
SELECT * FROM bin_domain;
SELECT word FROM bin_forget;
SELECT * FROM bin_domain;
SELECT * FROM bin_domain;
BEGIN;
SELECT * FROM bin_domain;
COMMIT;
DROP FOREIGN TABLE bin, bin_other, bin_acl, bin_domain, bin_many, bin_forget;
DROP TABLE s0.bin, s0.bin_other, s0.bin_acl, s0.bin_domain, s0.bin_many, bin_as_text;
DROP VIEW s0.bin_forget;
DROP FUNCTION s0.bin_forget();
DROP TYPE bin_mood;
DROP DOMAIN bin_short;
