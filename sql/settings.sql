-- Claim: every setting of shard_fdw has the documented default and unit, refuses
-- values that make no sense, and does what it says.
\set VERBOSITY terse
LOAD 'shard_fdw';
SELECT name, boot_val, unit, vartype, context, min_val, enumvals
  FROM pg_settings WHERE name ^@ 'shard_fdw.' ORDER BY name COLLATE "C";
-- values
SET shard_fdw.two_phase_commit = 'perhaps';
SET shard_fdw.isolation = 'none';
\set VERBOSITY sqlstate
SET shard_fdw.commit_timeout = '-1s';
\set VERBOSITY terse
SET shard_fdw.commit_timeout = 'soon';
SET shard_fdw.commit_timeout = '2min';
SHOW shard_fdw.commit_timeout;
RESET shard_fdw.commit_timeout;
SHOW shard_fdw.commit_timeout;
-- the prefix is reserved
SET shard_fdw.comit_timeout = '1s';
-- a server's setting cannot be changed in a session, and a superuser's not by others
SET shard_fdw.recovery_interval = '1s';
CREATE ROLE regress_shard_se;
SET ROLE regress_shard_se;
SET shard_fdw.allow_drop_in_doubt = on;
SET shard_fdw.commit_timeout = '5s';
RESET shard_fdw.commit_timeout;
RESET ROLE;
DROP ROLE regress_shard_se;
-- the name under which a session appears on the shard
CREATE VIEW s0.se_name AS SELECT current_setting('application_name') AS name;
CREATE FOREIGN TABLE se_name (name text) SERVER shard0 OPTIONS (schema_name 's0');
SELECT name FROM se_name;
SET shard_fdw.application_name = 'from the setting';
SELECT shard_fdw.disconnect_all();
SELECT name FROM se_name;
SET application_name = 'my app';
SET shard_fdw.application_name = '%a/%u/%d/%p/%%/%';
SELECT shard_fdw.disconnect_all();
SELECT name = format('my app/%s/%s/%s/%%/', session_user, current_database(), pg_backend_pid()) AS right_name FROM se_name;
SET shard_fdw.application_name = '%c%C';
SELECT shard_fdw.disconnect_all();
SELECT name = to_hex(trunc(extract(epoch FROM backend_start))::int) || '.' || to_hex(pid) || current_setting('cluster_name') AS right_name
  FROM se_name, pg_stat_activity WHERE pid = pg_backend_pid();
RESET shard_fdw.application_name;
ALTER SERVER shard0 OPTIONS (ADD application_name 'from the option');
SELECT name FROM se_name;
SET shard_fdw.application_name = 'the setting wins';
SELECT shard_fdw.disconnect_all();
SELECT name FROM se_name;
RESET shard_fdw.application_name;
ALTER SERVER shard0 OPTIONS (DROP application_name);
SELECT name FROM se_name;
RESET application_name;
-- a shard that refuses is no matter of connect_timeout (one that does not answer
-- is tested in t/)
CREATE SERVER se_down FOREIGN DATA WRAPPER shard_fdw OPTIONS (host '127.0.0.1', port '1', dbname 'x');
CREATE USER MAPPING FOR CURRENT_USER SERVER se_down;
CREATE FOREIGN TABLE se_down (k int) SERVER se_down;
SET shard_fdw.connect_timeout = '100s';
SET statement_timeout = '50s';
SELECT test.sqlstate('SELECT * FROM se_down');
RESET statement_timeout;
RESET shard_fdw.connect_timeout;
-- a step of a commit that takes longer than commit_timeout is given up: nothing
-- is kept, and the worker removes what may have been prepared meanwhile
CREATE TABLE s0.se (id int);
CREATE TABLE s1.se (id int);
CREATE FOREIGN TABLE se0 (id int) SERVER shard0 OPTIONS (schema_name 's0', table_name 'se');
CREATE FOREIGN TABLE se1 (id int) SERVER shard1 OPTIONS (schema_name 's1', table_name 'se');
CREATE FUNCTION s1.se_slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_sleep(20);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON s1.se DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION s1.se_slow();
SET shard_fdw.commit_timeout = '300ms';
BEGIN;
INSERT INTO se0 VALUES (1);
INSERT INTO se1 VALUES (1);
COMMIT;
\echo :LAST_ERROR_SQLSTATE
RESET shard_fdw.commit_timeout;
SELECT (SELECT count(*) FROM s0.se) AS s0, (SELECT count(*) FROM s1.se) AS s1;
SELECT test.settled();
SELECT (SELECT count(*) FROM s0.se) AS s0, (SELECT count(*) FROM s1.se) AS s1;
DROP SERVER se_down CASCADE;
DROP FOREIGN TABLE se_name, se0, se1;
DROP VIEW s0.se_name;
DROP TABLE s0.se, s1.se;
DROP FUNCTION s1.se_slow();
