-- Claim: IMPORT FOREIGN SCHEMA makes foreign tables of what is there: tables,
-- views, foreign tables and partitioned tables, partitions only by name; with
-- the columns' names, types and collations, NOT NULL and generated columns, and
-- defaults where asked.
\set VERBOSITY terse
CREATE SCHEMA "im src";
CREATE SCHEMA im;
CREATE TYPE "im src".mood AS ENUM ('a', 'b');
CREATE TABLE "im src".plain (a int NOT NULL, "B b" text DEFAULT 'it''s' COLLATE "C",
  c numeric(10,2), d int GENERATED ALWAYS AS (a * 2) STORED, "select" varchar(3)[],
  "q""q" timestamptz(3) DEFAULT now(), m "im src".mood, gone int);
ALTER TABLE "im src".plain DROP COLUMN gone;
CREATE TABLE "im src"."Tab 'le" ();
CREATE TABLE "im src".parted (k int, v text) PARTITION BY LIST (k);
CREATE TABLE "im src".parted_1 PARTITION OF "im src".parted FOR VALUES IN (1);
CREATE VIEW "im src".view AS SELECT a, "B b" FROM "im src".plain;
CREATE MATERIALIZED VIEW "im src".matview AS SELECT 1 AS one;
CREATE FOREIGN TABLE "im src".remote (a int) SERVER shard1;
CREATE SEQUENCE "im src".sequence;
CREATE INDEX ON "im src".plain (a);
IMPORT FOREIGN SCHEMA "im src" FROM SERVER shard0 INTO im;
SELECT c.relname, a.attname, format_type(atttypid, atttypmod) AS type, attnotnull AS not_null,
  pg_get_expr(adbin, adrelid) AS expression, attgenerated AS generated,
  CASE WHEN attcollation <> 100 THEN attcollation::regcollation END AS collation, attfdwoptions
  FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND attnum > 0
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE relnamespace = 'im'::regnamespace AND attcollation IS DISTINCT FROM 0 OR relname = 'plain' AND relnamespace = 'im'::regnamespace ORDER BY 1, attnum;
SELECT c.relname, ftoptions FROM pg_foreign_table f JOIN pg_class c ON c.oid = ftrelid
  WHERE relnamespace = 'im'::regnamespace ORDER BY 1;
INSERT INTO im.plain (a, "B b", m) VALUES (1, 'x', 'b') RETURNING a, d, m;
SELECT * FROM im.view;
-- the options
CREATE VIEW im_columns AS SELECT string_agg(format('%s %s %s %s', attname, attnotnull, pg_get_expr(adbin, adrelid),
    CASE WHEN attcollation <> 100 THEN attcollation::regcollation END), ', ' ORDER BY attnum)
  FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  WHERE attrelid = to_regclass('im.plain') AND attnum > 0;
DROP FOREIGN TABLE im.plain;
IMPORT FOREIGN SCHEMA "im src" LIMIT TO (plain) FROM SERVER shard0 INTO im OPTIONS (import_default 'true');
TABLE im_columns;
DROP FOREIGN TABLE im.plain;
IMPORT FOREIGN SCHEMA "im src" LIMIT TO (plain) FROM SERVER shard0 INTO im
  OPTIONS (import_not_null 'off', import_generated 'off', import_collate 'false');
TABLE im_columns;
-- what is named, but for what does not exist
DROP SCHEMA im CASCADE;
CREATE SCHEMA im;
IMPORT FOREIGN SCHEMA "im src" LIMIT TO (parted_1, nothing) FROM SERVER shard0 INTO im;
IMPORT FOREIGN SCHEMA "im src" EXCEPT (plain, view, nothing) FROM SERVER shard0 INTO im;
SELECT relname FROM pg_class WHERE relnamespace = 'im'::regnamespace ORDER BY 1;
-- refusals leave nothing behind
IMPORT FOREIGN SCHEMA "im src" FROM SERVER shard0 INTO im;
IMPORT FOREIGN SCHEMA nowhere FROM SERVER shard0 INTO im;
IMPORT FOREIGN SCHEMA "im src" FROM SERVER shard0 INTO im OPTIONS (import_check 'true');
IMPORT FOREIGN SCHEMA "im src" FROM SERVER shard0 INTO im OPTIONS (import_default 'perhaps');
DROP TYPE "im src".mood CASCADE;
SELECT count(*) FROM pg_class WHERE relnamespace = 'im'::regnamespace;
-- a generated column that the shard computes when it is read
SELECT CASE WHEN current_setting('server_version_num')::int >= 180000 THEN 'VIRTUAL' ELSE 'STORED' END AS kind \gset
CREATE TABLE "im src".gen (a int, v int GENERATED ALWAYS AS (a + 1) :kind);
IMPORT FOREIGN SCHEMA "im src" LIMIT TO (gen) FROM SERVER shard0 INTO im;
INSERT INTO im.gen (a) VALUES (1), (2);
INSERT INTO im.gen (a) VALUES (3) RETURNING v;
INSERT INTO im.gen (a, v) VALUES (3, 5);
UPDATE im.gen SET a = a + 10 WHERE v = 2 RETURNING a, v;
SELECT * FROM im.gen WHERE v > 3 ORDER BY v;
SELECT sum(v) FROM im.gen;
DROP SCHEMA im, "im src" CASCADE;
DROP VIEW im_columns;
