-- Claim: a session has one connection per server and mapping, keeps it between
-- transactions, shows it, closes it when asked, and replaces it when the server
-- or the mapping has changed.
\set VERBOSITY terse
CREATE VIEW s0.co_me AS SELECT pg_backend_pid() AS pid, session_user::text AS who;
CREATE VIEW s1.co_me AS SELECT pg_backend_pid() AS pid, session_user::text AS who;
CREATE FOREIGN TABLE co0 (pid int, who text) SERVER shard0 OPTIONS (schema_name 's0', table_name 'co_me');
CREATE FOREIGN TABLE co1 (pid int, who text) SERVER shard1 OPTIONS (schema_name 's1', table_name 'co_me');
SELECT shard_fdw.disconnect_all() AS closed_some;
SELECT * FROM shard_fdw.get_connections();
-- one connection each, used again
SELECT pid AS pid0 FROM co0 \gset
SELECT pid AS pid1 FROM co1 \gset
SELECT :pid0 <> :pid1 AS two_backends;
SELECT (SELECT pid FROM co0) = :pid0 AS same0, (SELECT pid FROM co1) = :pid1 AS same1;
SELECT count(DISTINCT pid) FROM (SELECT pid FROM co0 UNION ALL SELECT pid FROM co0) q;
SELECT server_name, user_name = current_user AS mine, valid, used_in_xact, closed,
  remote_backend_pid IN (:pid0, :pid1) AS right_pid FROM shard_fdw.get_connections() ORDER BY 1;
-- in a transaction
BEGIN;
SELECT pid = :pid0 AS same FROM co0;
SELECT server_name, used_in_xact FROM shard_fdw.get_connections() ORDER BY 1;
SELECT shard_fdw.disconnect('shard0');
SELECT shard_fdw.disconnect('shard1');
SELECT shard_fdw.disconnect_all();
COMMIT;
SELECT server_name FROM shard_fdw.get_connections() ORDER BY 1;
SELECT shard_fdw.disconnect('shard1');
SELECT shard_fdw.disconnect('no_such_server');
SELECT shard_fdw.disconnect('shard0');
SELECT count(*) FROM shard_fdw.get_connections();
-- is it still there
SELECT pid AS pid0 FROM co0 \gset
SELECT closed FROM shard_fdw.get_connections(check_conn => true);
SELECT pg_terminate_backend(:pid0, 10000);
SELECT closed FROM shard_fdw.get_connections(check_conn => true);
SELECT pid <> :pid0 AS another FROM co0;
-- ALTER SERVER: the next transaction has a new connection
SELECT pid AS pid0 FROM co0 \gset
ALTER SERVER shard0 OPTIONS (ADD application_name 'regress_co');
SELECT server_name, valid FROM shard_fdw.get_connections() ORDER BY 1;
SELECT pid <> :pid0 AS another FROM co0;
SELECT count(*) FROM pg_stat_activity WHERE application_name = 'regress_co';
SELECT server_name, valid FROM shard_fdw.get_connections() ORDER BY 1;
-- within a transaction the old one stays
BEGIN;
SELECT pid AS pid0 FROM co0 \gset
ALTER SERVER shard0 OPTIONS (DROP application_name);
SELECT pid = :pid0 AS same FROM co0;
SELECT server_name, valid, used_in_xact FROM shard_fdw.get_connections() ORDER BY 1;
COMMIT;
SELECT pid <> :pid0 AS another FROM co0;
-- a changed mapping
CREATE ROLE regress_shard_co LOGIN;
GRANT USAGE ON SCHEMA s0 TO regress_shard_co;
GRANT SELECT ON s0.co_me TO regress_shard_co;
SELECT current_user AS me \gset
ALTER USER MAPPING FOR CURRENT_USER SERVER shard0 OPTIONS (SET user 'regress_shard_co');
SELECT who FROM co0;
ALTER USER MAPPING FOR CURRENT_USER SERVER shard0 OPTIONS (SET user :'me');
SELECT who = current_user AS me_again FROM co0;
-- a dropped mapping
DROP USER MAPPING FOR CURRENT_USER SERVER shard0;
SELECT count(*) FROM shard_fdw.get_connections() WHERE valid;
\set VERBOSITY sqlstate
SELECT pid FROM co0;
\set VERBOSITY terse
CREATE USER MAPPING FOR PUBLIC SERVER shard0 OPTIONS (user :'me');
SELECT who = current_user AS me_again FROM co0;
SELECT server_name, user_name, valid FROM shard_fdw.get_connections() WHERE valid ORDER BY 1;
-- users who share the PUBLIC mapping, one of them held to the password rule
GRANT SELECT ON co0 TO regress_shard_co;
SET ROLE regress_shard_co;
\set VERBOSITY sqlstate
SELECT who FROM co0;
\set VERBOSITY terse
RESET ROLE;
ALTER USER MAPPING FOR PUBLIC SERVER shard0 OPTIONS (ADD password_required 'false');
SET ROLE regress_shard_co;
SELECT who = session_user AS shared FROM co0;
RESET ROLE;
DROP USER MAPPING FOR PUBLIC SERVER shard0;
CREATE USER MAPPING FOR CURRENT_USER SERVER shard0 OPTIONS (user :'me');
-- a shard whose own settings read backslashes and NULLs otherwise
CREATE ROLE regress_shard_old SUPERUSER LOGIN;
DO $$ BEGIN
  IF current_setting('server_version_num')::int < 190000 THEN -- always on since
    ALTER ROLE regress_shard_old SET standard_conforming_strings = off;
  END IF;
END $$;
ALTER ROLE regress_shard_old SET array_nulls = off;
ALTER USER MAPPING FOR CURRENT_USER SERVER shard0 OPTIONS (SET user 'regress_shard_old');
CREATE TABLE s0.co_text (id int, word text, words text[]);
CREATE FOREIGN TABLE co_text (id int, word text, words text[])
  SERVER shard0 OPTIONS (schema_name 's0');
INSERT INTO co_text VALUES (1, E'a\\b', '{a,NULL}'), (2, E'\\', '{a,"NULL"}');
SELECT id FROM co_text WHERE word = E'a\\b';
SELECT id FROM co_text WHERE word = E'\\' AND 'OR true --' <> word;
SELECT id FROM co_text WHERE words = '{a,NULL}';
SELECT id, words[2] IS NULL AS is_null FROM s0.co_text ORDER BY id;
DROP FOREIGN TABLE co_text;
DROP TABLE s0.co_text;
ALTER USER MAPPING FOR CURRENT_USER SERVER shard0 OPTIONS (SET user :'me');
DROP ROLE regress_shard_old;
-- keep_connections
ALTER SERVER shard0 OPTIONS (ADD keep_connections 'off');
BEGIN;
SELECT pid AS pid0 FROM co0 \gset
SELECT pid = :pid0 AS same_in_transaction FROM co0;
COMMIT;
SELECT count(*) FROM shard_fdw.get_connections() WHERE server_name = 'shard0' AND valid;
SELECT pid <> :pid0 AS another FROM co0;
ALTER SERVER shard0 OPTIONS (DROP keep_connections);
-- a dropped server
CALL test.make_server('co_gone');
CREATE FOREIGN TABLE co_gone (pid int) SERVER co_gone OPTIONS (schema_name 's0', table_name 'co_me');
SELECT shard_fdw.disconnect_all() AS closed_some;
SELECT count(*) FROM co_gone;
BEGIN;
SELECT count(*) FROM co_gone;
DROP SERVER co_gone CASCADE;
SELECT server_name, valid FROM shard_fdw.get_connections();
COMMIT;
SELECT count(*) FROM shard_fdw.get_connections();
-- texts that come once are not kept, in a long transaction neither
DO $$
BEGIN
  FOR number IN 1..2000 LOOP
    EXECUTE format('SELECT pid FROM co0 WHERE pid = %s', number);
  END LOOP;
END $$;
SELECT max(total_bytes) < 100000 AS are_forgotten
  FROM pg_backend_memory_contexts WHERE name = 'shard_fdw statements';
-- counters
SELECT statements AS before, trips FROM shard_fdw.stat_shards WHERE server = 'shard0' \gset
SELECT count(*) FROM co0;
SELECT count(*) FROM co0;
SELECT statements > :before AS counted, trips > :trips AS and_trips FROM shard_fdw.stat_shards WHERE server = 'shard0';
-- the first access of a session, beside parallel workers
CREATE TABLE co_big AS SELECT i FROM generate_series(1, 1000) i;
\c -
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM co_big JOIN co0 ON i > length(who) - 1000;
SELECT count(*) FROM co_big JOIN co0 ON i > length(who) - 1000;
DROP TABLE co_big;
DROP FOREIGN TABLE co0, co1;
DROP VIEW s0.co_me, s1.co_me;
REVOKE ALL ON SCHEMA s0 FROM regress_shard_co;
DROP ROLE regress_shard_co;
