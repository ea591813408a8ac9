-- Claim: isolation level, READ ONLY and DEFERRABLE of the local transaction
-- reach the shard, and a session on a shard is set up the same way always.
-- (What sessions see of each other is tested in specs/.)
\set VERBOSITY terse
CREATE VIEW s0.iso AS SELECT current_setting('transaction_isolation') AS level,
  current_setting('transaction_read_only') AS read_only,
  current_setting('transaction_deferrable') AS is_deferrable;
CREATE FOREIGN TABLE iso (level text, read_only text, is_deferrable text)
  SERVER shard0 OPTIONS (schema_name 's0');
CREATE TABLE s0.iso_t (v int);
CREATE FOREIGN TABLE iso_t (v int) SERVER shard0 OPTIONS (schema_name 's0');
-- a lone read is READ ONLY on the shard
SELECT * FROM iso;
-- blocks
BEGIN;
SELECT level, read_only FROM iso;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM iso;
SAVEPOINT s;
SELECT * FROM iso;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM iso;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT * FROM iso;
COMMIT;
BEGIN READ ONLY;
SELECT level, read_only FROM iso;
COMMIT;
-- READ ONLY that is set later, for a part of the transaction
BEGIN;
INSERT INTO iso_t VALUES (1);
SAVEPOINT s;
SET TRANSACTION READ ONLY;
SELECT read_only FROM iso;
INSERT INTO iso_t VALUES (2);
ROLLBACK TO s;
INSERT INTO iso_t VALUES (3);
COMMIT;
SELECT * FROM iso_t ORDER BY v;
-- a write in an autocommit statement
SELECT level, read_only FROM iso;
INSERT INTO iso_t VALUES (4);
-- one statement that reads the shard twice has one snapshot of it
BEGIN;
SELECT a.level, b.level FROM iso a, iso b;
SELECT level FROM iso;
COMMIT;
-- however soon the next one comes
DO $$
DECLARE
  now_at text;
  kept int := 0;
BEGIN
  FOR i IN 1..20 LOOP
    PERFORM FROM iso a, iso b;
    SELECT level INTO now_at FROM iso;
    IF now_at <> 'read committed' THEN
      kept := kept + 1;
    END IF;
  END LOOP;
  RAISE NOTICE 'statements that were given the snapshot of the one before: %', kept;
END $$;
-- nor does a scan that was aborted keep its snapshot for others
BEGIN;
SAVEPOINT a;
SELECT 1 / (x.i - x.i) FROM generate_series(1, 3) x(i), iso a, iso b LIMIT 1;
ROLLBACK TO a;
RELEASE a;
SELECT a.level FROM iso a, iso b;
SELECT level FROM iso;
COMMIT;
-- but after a write the level stays what it is
BEGIN;
INSERT INTO iso_t VALUES (5);
SELECT a.level FROM iso a, iso b;
COMMIT;
-- the old behaviour
SET shard_fdw.isolation = snapshot;
SELECT level FROM iso;
BEGIN;
SELECT level FROM iso;
INSERT INTO iso_t VALUES (6);
SELECT level FROM iso;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT level FROM iso;
COMMIT;
RESET shard_fdw.isolation;
BEGIN;
SELECT level FROM iso;
COMMIT;
-- defaults of this session
SET default_transaction_isolation = 'repeatable read';
SELECT level FROM iso;
INSERT INTO iso_t VALUES (7);
RESET default_transaction_isolation;
SET default_transaction_read_only = on;
SELECT read_only FROM iso;
INSERT INTO iso_t VALUES (8);
SET default_transaction_read_only = off;
INSERT INTO iso_t VALUES (9);
SELECT * FROM iso_t ORDER BY v;
-- READ COMMITTED: each statement sees what was committed before it
BEGIN;
SELECT count(*) FROM iso_t;
INSERT INTO s0.iso_t VALUES (10);
SELECT count(*) FROM iso_t;
COMMIT;
SELECT count(*) FROM iso_t;
-- what the session on the shard is set to, whatever it is here
CREATE VIEW s0.iso_session AS SELECT name, current_setting(name) AS value
  FROM unnest(ARRAY['DateStyle', 'IntervalStyle', 'extra_float_digits',
    'search_path', 'TimeZone', 'client_encoding']) name;
CREATE FOREIGN TABLE iso_session (name text, value text) SERVER shard0 OPTIONS (schema_name 's0');
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'iso_8601';
SET extra_float_digits = 0;
SET search_path = s1, public;
SELECT name, value FROM iso_session WHERE name <> 'client_encoding' ORDER BY name COLLATE "C";
SELECT value = (SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database())
  AS same_encoding FROM iso_session WHERE name = 'client_encoding';
RESET ALL;
DROP FOREIGN TABLE iso, iso_t, iso_session;
DROP VIEW s0.iso, s0.iso_session;
DROP TABLE s0.iso_t;
