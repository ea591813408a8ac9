-- Claim: whatever goes wrong on the way to a shard or on it comes back as an
-- error with the right SQLSTATE, aborts the transaction everywhere, and leaves
-- the session usable.
\set VERBOSITY terse
CREATE TABLE s0.er (id int PRIMARY KEY, n int, t text);
CREATE TABLE s1.er (id int PRIMARY KEY, n int, t text);
INSERT INTO s0.er VALUES (1, 0, 'x'), (2, 2, '22');
CREATE FOREIGN TABLE er0 (id int, n int, t text) SERVER shard0 OPTIONS (schema_name 's0', table_name 'er');
CREATE FOREIGN TABLE er1 (id int, n int, t text) SERVER shard1 OPTIONS (schema_name 's1', table_name 'er');
-- an error of the shard keeps its SQLSTATE, message, detail, hint and context
\set VERBOSITY default
SELECT id / n FROM er0 WHERE 10 / n > 1;
INSERT INTO er0 VALUES (1, 1, 'again');
CREATE FUNCTION s0.er_raise() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'message of the shard' USING ERRCODE = 'SF123', DETAIL = 'Its detail.', HINT = 'Its hint.';
END $$;
CREATE VIEW s0.er_raise AS SELECT s0.er_raise() AS id;
CREATE FOREIGN TABLE er_raise (id int) SERVER shard0 OPTIONS (schema_name 's0');
SELECT id FROM er_raise;
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
-- tables and columns that are not there, or not as declared
CREATE FOREIGN TABLE er_no_table (id int) SERVER shard0 OPTIONS (schema_name 's0', table_name 'none');
SELECT * FROM er_no_table;
\echo :LAST_ERROR_SQLSTATE
INSERT INTO er_no_table VALUES (1);
CREATE FOREIGN TABLE er_no_column (id int, missing int) SERVER shard0 OPTIONS (schema_name 's0', table_name 'er');
SELECT id FROM er_no_column ORDER BY id;
SELECT missing FROM er_no_column;
\echo :LAST_ERROR_SQLSTATE
CREATE FOREIGN TABLE er_types (id bigint, n text, t int) SERVER shard0 OPTIONS (schema_name 's0', table_name 'er');
SELECT id, n FROM er_types ORDER BY id;
SELECT t FROM er_types WHERE id = 2;
\set VERBOSITY default
SELECT t FROM er_types WHERE id = 1;
\set VERBOSITY terse
\echo :LAST_ERROR_SQLSTATE
CREATE FOREIGN TABLE er_small (id smallint) SERVER shard0 OPTIONS (schema_name 's0', table_name 'er');
SELECT * FROM er_small ORDER BY 1;
-- a shard that is not there
CREATE SERVER er_down FOREIGN DATA WRAPPER shard_fdw OPTIONS (host '127.0.0.1', port '1', dbname 'x');
CREATE USER MAPPING FOR CURRENT_USER SERVER er_down;
CREATE FOREIGN TABLE er_down (id int) SERVER er_down;
\set VERBOSITY sqlstate
SELECT * FROM er_down;
INSERT INTO er_down VALUES (1);
\set VERBOSITY terse
CALL test.make_server('er_nodb');
ALTER SERVER er_nodb OPTIONS (SET dbname 'regress_no_such_database');
CREATE FOREIGN TABLE er_nodb (id int) SERVER er_nodb;
\set VERBOSITY sqlstate
SELECT * FROM er_nodb;
\set VERBOSITY terse
-- one shard of several is down: the others are not kept, unless the failure
-- was caught
BEGIN;
INSERT INTO er0 VALUES (5, 1, 'gone');
INSERT INTO er1 VALUES (5, 1, 'gone');
\set VERBOSITY sqlstate
INSERT INTO er_down VALUES (5);
\set VERBOSITY terse
COMMIT;
BEGIN;
INSERT INTO er0 VALUES (6, 1, 'kept');
SELECT test.sqlstate('INSERT INTO er_down VALUES (6)');
INSERT INTO er1 VALUES (6, 1, 'kept');
COMMIT;
SELECT (SELECT string_agg(id::text, ' ') FROM s0.er WHERE id > 2) AS s0, (SELECT string_agg(id::text, ' ') FROM s1.er) AS s1;
-- no mapping, no password
CREATE ROLE regress_shard_er;
GRANT USAGE ON FOREIGN SERVER shard0 TO regress_shard_er;
GRANT SELECT ON er0 TO regress_shard_er;
SET ROLE regress_shard_er;
\set VERBOSITY sqlstate
SELECT count(*) FROM er0;
CREATE USER MAPPING FOR CURRENT_USER SERVER shard0 OPTIONS (user 'regress_shard_er');
SELECT count(*) FROM er0;
\set VERBOSITY terse
RESET ROLE;
DROP USER MAPPING FOR regress_shard_er SERVER shard0;
REVOKE ALL ON er0 FROM regress_shard_er;
REVOKE USAGE ON FOREIGN SERVER shard0 FROM regress_shard_er;
DROP ROLE regress_shard_er;
-- time limits on the shard
CALL test.make_server('er_hasty', $$, options '-c statement_timeout=100ms'$$);
CREATE VIEW s0.er_slow AS SELECT 1 AS id FROM pg_sleep(20);
CREATE FOREIGN TABLE er_hasty (id int) SERVER er_hasty OPTIONS (schema_name 's0', table_name 'er_slow');
SELECT * FROM er_hasty;
\echo :LAST_ERROR_SQLSTATE
-- time limits here: the shard stops as well
CREATE FOREIGN TABLE er_slow (id int) SERVER shard0 OPTIONS (schema_name 's0');
SET statement_timeout = '200ms';
SELECT * FROM er_slow;
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
SELECT count(*) AS still_running FROM pg_stat_activity
  WHERE datname = current_database() AND query ~ 'er_slow' AND state = 'active' AND pid <> pg_backend_pid();
BEGIN;
INSERT INTO er0 VALUES (11, 1, 'kept');
SAVEPOINT s;
SET LOCAL statement_timeout = '200ms';
SELECT * FROM er_slow;
ROLLBACK TO s;
INSERT INTO er0 VALUES (12, 1, 'kept');
COMMIT;
SELECT id FROM s0.er WHERE id > 10 ORDER BY id;
-- a lost connection: an idle one is replaced silently
CREATE VIEW s0.er_me AS SELECT pg_backend_pid() AS pid;
CREATE FOREIGN TABLE er_me (pid int) SERVER shard0 OPTIONS (schema_name 's0');
SELECT pid AS old FROM er_me \gset
SELECT pg_terminate_backend(:old, 10000);
SELECT pid <> :old AS another FROM er_me;
SELECT pid AS old FROM er_me \gset
SELECT pg_terminate_backend(:old, 10000);
INSERT INTO er0 VALUES (20, 1, 'kept');
SELECT pid AS old FROM er_me \gset
SELECT pg_terminate_backend(:old, 10000);
BEGIN;
INSERT INTO er1 VALUES (21, 1, 'kept');
INSERT INTO er0 VALUES (21, 1, 'kept');
COMMIT;
SELECT id FROM s0.er WHERE id IN (20, 21) ORDER BY id;
-- one with work in it is not
\set VERBOSITY sqlstate
BEGIN;
INSERT INTO er0 VALUES (22, 1, 'gone');
SELECT pid AS old FROM er_me \gset
SELECT pg_terminate_backend(:old, 10000);
INSERT INTO er0 VALUES (23, 1, 'gone');
COMMIT;
BEGIN;
INSERT INTO er0 VALUES (22, 1, 'gone');
SELECT pid AS old FROM er_me \gset
SAVEPOINT s;
SELECT pg_terminate_backend(:old, 10000);
INSERT INTO er0 VALUES (23, 1, 'gone');
ROLLBACK TO s;
INSERT INTO er0 VALUES (24, 1, 'gone');
COMMIT;
BEGIN;
INSERT INTO er0 VALUES (25, 1, 'gone');
INSERT INTO er1 VALUES (25, 1, 'gone');
SELECT pid AS old FROM er_me \gset
SELECT pg_terminate_backend(:old, 10000);
COMMIT;
\set VERBOSITY terse
SELECT (SELECT count(*) FROM s0.er WHERE id BETWEEN 22 AND 29) AS s0,
  (SELECT count(*) FROM s1.er WHERE id BETWEEN 22 AND 29) AS s1;
-- no place for prepared transactions: a write on two shards fails as a whole,
-- everything else goes on
\set ECHO none
SELECT 'BEGIN', format('PREPARE TRANSACTION %L', 'regress_fill_' || i)
  FROM generate_series(1, current_setting('max_prepared_transactions')::int - (SELECT count(*) FROM pg_prepared_xacts)) i \gexec
\set ECHO all
BEGIN;
INSERT INTO er0 VALUES (30, 1, 'gone');
INSERT INTO er1 VALUES (30, 1, 'gone');
COMMIT;
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT count(*) FROM er1 WHERE id = 30;
INSERT INTO er0 VALUES (31, 1, 'kept');
COMMIT;
\set ECHO none
SELECT format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts
  WHERE gid ^@ 'regress_fill_' AND database = current_database() \gexec
\set ECHO all
SELECT (SELECT count(*) FROM s0.er WHERE id = 30) AS s0, (SELECT count(*) FROM s1.er WHERE id = 30) AS s1,
  (SELECT count(*) FROM s0.er WHERE id = 31) AS one_shard;
-- a temporary table on the shard cannot be prepared: the error says what
-- PostgreSQL says, and nothing is kept
CREATE FUNCTION s1.er_temp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  CREATE TEMP TABLE er_temp (id int) ON COMMIT DROP;
  RETURN NEW;
END $$;
CREATE TRIGGER t BEFORE INSERT ON s1.er FOR EACH ROW EXECUTE FUNCTION s1.er_temp();
BEGIN;
INSERT INTO er0 VALUES (32, 1, 'gone');
INSERT INTO er1 VALUES (32, 1, 'gone');
COMMIT;
INSERT INTO er1 VALUES (33, 1, 'kept');
SELECT (SELECT count(*) FROM s0.er WHERE id = 32) AS s0, (SELECT count(*) FROM s1.er WHERE id = 32) AS s1,
  (SELECT count(*) FROM s1.er WHERE id = 33) AS one_shard;
-- what a foreign table cannot do
MERGE INTO er0 USING (VALUES (1)) v(id) ON er0.id = v.id WHEN MATCHED THEN DELETE;
-- secrets appear in no message
CREATE SERVER er_secret FOREIGN DATA WRAPPER shard_fdw OPTIONS (host '127.0.0.1', port '1', dbname 'x');
CREATE USER MAPPING FOR CURRENT_USER SERVER er_secret OPTIONS (user 'somebody', password 'regress-secret');
CREATE FOREIGN TABLE er_secret (id int) SERVER er_secret;
DO $$
DECLARE
  m text;
  d text;
  h text;
  c text;
BEGIN
  PERFORM * FROM er_secret;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT, c = PG_EXCEPTION_CONTEXT;
  RAISE NOTICE 'secret shown: %', concat(m, d, h, c) LIKE '%regress-secret%';
END $$;
-- what was violated, by name, as programs want to know it
ALTER TABLE s0.er ADD CONSTRAINT er_named CHECK (n <> 77);
DO $$ DECLARE s text; t text; c text; BEGIN
  INSERT INTO er0 VALUES (77, 77);
EXCEPTION WHEN check_violation THEN
  GET STACKED DIAGNOSTICS s = SCHEMA_NAME, t = TABLE_NAME, c = CONSTRAINT_NAME;
  RAISE NOTICE 'violated: % % %', s, t, c;
END $$;
DROP SERVER er_down, er_nodb, er_hasty, er_secret CASCADE;
SELECT test.settled();
DROP FOREIGN TABLE er0, er1, er_raise, er_no_table, er_no_column, er_types, er_small, er_slow, er_me;
DROP VIEW s0.er_raise, s0.er_slow, s0.er_me;
DROP FUNCTION s0.er_raise();
DROP TABLE s0.er, s1.er;
DROP FUNCTION s1.er_temp();
