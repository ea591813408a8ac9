-- Claim: every option of postgres_fdw is accepted where postgres_fdw accepts it;
-- names that do not exist and values that make no sense are refused when they
-- are written, and a changed option is obeyed by the next statement.
\set VERBOSITY default
-- all options of a server at once
CREATE SERVER opt FOREIGN DATA WRAPPER shard_fdw OPTIONS (
  host 'nowhere.invalid', hostaddr '127.0.0.1', port '1', dbname 'none',
  connect_timeout '2', keepalives '1', sslmode 'disable',
  application_name 'x', options '-c statement_timeout=0',
  use_remote_estimate 'true', fdw_startup_cost '1.5', fdw_tuple_cost '0.1',
  extensions '', fetch_size '10', batch_size '5', updatable 'false',
  truncatable 'false', async_capable 'false', keep_connections 'off',
  parallel_commit 'false', parallel_abort 'false', analyze_sampling 'off');
ALTER SERVER opt OPTIONS (SET fetch_size '20', DROP batch_size, ADD import_stats 'false');
CREATE USER MAPPING FOR CURRENT_USER SERVER opt OPTIONS (
  user 'u', password 'secret', sslcert 'c', sslkey 'k',
  password_required 'false');
CREATE FOREIGN TABLE opt_t (a int OPTIONS (column_name 'A')) SERVER opt OPTIONS (
  schema_name 's', table_name 't', use_remote_estimate 'false', fetch_size '1',
  batch_size '1', updatable 'true', truncatable 'true', async_capable 'true',
  analyze_sampling 'bernoulli');
-- names: unknown ones get a hint when there is a similar one
CREATE SERVER bad FOREIGN DATA WRAPPER shard_fdw OPTIONS (hots 'h');
CREATE SERVER bad FOREIGN DATA WRAPPER shard_fdw OPTIONS (completely_unknown 'h');
ALTER SERVER opt OPTIONS (ADD fetch_sise '10');
ALTER FOREIGN TABLE opt_t OPTIONS (ADD tablename 't');
ALTER FOREIGN TABLE opt_t ALTER a OPTIONS (ADD name 'b');
ALTER FOREIGN DATA WRAPPER shard_fdw OPTIONS (ADD host 'h');
-- places: what belongs to a mapping, a table or a column is not for a server,
-- and the hint says so
ALTER SERVER opt OPTIONS (ADD user 'u');
ALTER SERVER opt OPTIONS (ADD password 'p');
ALTER SERVER opt OPTIONS (ADD password_required 'false');
ALTER SERVER opt OPTIONS (ADD schema_name 's');
ALTER USER MAPPING FOR CURRENT_USER SERVER opt OPTIONS (ADD host 'h');
ALTER USER MAPPING FOR CURRENT_USER SERVER opt OPTIONS (ADD fetch_size '1');
ALTER FOREIGN TABLE opt_t OPTIONS (ADD keep_connections 'off');
ALTER FOREIGN TABLE opt_t OPTIONS (ADD column_name 'c');
ALTER FOREIGN TABLE opt_t ALTER a OPTIONS (ADD table_name 't');
-- what the wrapper sets itself
\set VERBOSITY terse
ALTER SERVER opt OPTIONS (ADD client_encoding 'utf8');
ALTER SERVER opt OPTIONS (ADD fallback_application_name 'x');
\set VERBOSITY default
-- values
ALTER SERVER opt OPTIONS (SET fetch_size '0');
ALTER SERVER opt OPTIONS (SET fetch_size 'many');
ALTER SERVER opt OPTIONS (ADD batch_size '-1');
ALTER SERVER opt OPTIONS (SET fdw_startup_cost '-1');
ALTER SERVER opt OPTIONS (SET fdw_tuple_cost 'cheap');
ALTER SERVER opt OPTIONS (SET updatable 'perhaps');
ALTER SERVER opt OPTIONS (SET fetch_size '');
ALTER SERVER opt OPTIONS (SET fetch_size '99999999999');
ALTER SERVER opt OPTIONS (SET fdw_tuple_cost '');
ALTER SERVER opt OPTIONS (ADD pool_mode 'statement');
ALTER SERVER opt OPTIONS (ADD pool_mode '');
ALTER SERVER opt OPTIONS (SET analyze_sampling 'some');
ALTER SERVER opt OPTIONS (SET extensions 'one two');
ALTER SERVER opt OPTIONS (SET extensions 'not_installed_here');
ALTER SERVER opt OPTIONS (SET extensions 'plpgsql');
ALTER FOREIGN TABLE opt_t OPTIONS (SET schema_name '');
-- values of libpq's options are looked at when they are used
ALTER SERVER opt OPTIONS (SET connect_timeout 'soon');
SELECT * FROM opt_t;
ALTER SERVER opt OPTIONS (SET connect_timeout '');
SELECT * FROM opt_t;
ALTER SERVER opt OPTIONS (SET connect_timeout '99999999999');
SELECT * FROM opt_t;
ALTER SERVER opt OPTIONS (SET connect_timeout '2');
-- SQLSTATEs of the three kinds of mistakes
SELECT test.sqlstate('ALTER SERVER opt OPTIONS (ADD fetch_sise ''10'')') AS name,
  test.sqlstate('ALTER SERVER opt OPTIONS (SET fetch_size ''x'')') AS value,
  test.sqlstate('ALTER FOREIGN TABLE opt_t OPTIONS (SET table_name '''')') AS empty_name;
-- what a user who is not a superuser may not write into a mapping
CREATE ROLE regress_shard_opt;
GRANT USAGE ON FOREIGN SERVER opt TO regress_shard_opt;
SET ROLE regress_shard_opt;
CREATE USER MAPPING FOR CURRENT_USER SERVER opt OPTIONS (user 'u', password_required 'false');
CREATE USER MAPPING FOR CURRENT_USER SERVER opt OPTIONS (user 'u', sslkey 'k');
CREATE USER MAPPING FOR CURRENT_USER SERVER opt OPTIONS (user 'u', password 'p', password_required 'true');
ALTER USER MAPPING FOR CURRENT_USER SERVER opt OPTIONS (SET password_required 'false');
RESET ROLE;
DROP USER MAPPING FOR regress_shard_opt SERVER opt;
REVOKE USAGE ON FOREIGN SERVER opt FROM regress_shard_opt;
DROP ROLE regress_shard_opt;
DROP SERVER opt CASCADE;
-- names on the shard: quoted, with dots, quotes and blanks
\set VERBOSITY terse
CREATE SCHEMA "s 0.x";
CREATE TABLE "s 0.x"."Ta""ble" ("Co lumn" int, "select" text);
INSERT INTO "s 0.x"."Ta""ble" VALUES (1, 'one'), (2, 'two');
CREATE FOREIGN TABLE opt_names (
  a int OPTIONS (column_name 'Co lumn'), b text OPTIONS (column_name 'select'))
  SERVER shard0 OPTIONS (schema_name 's 0.x', table_name 'Ta"ble');
SELECT * FROM opt_names WHERE a > 0 AND b <> 'x' ORDER BY a;
INSERT INTO opt_names VALUES (3, 'three') RETURNING b;
UPDATE opt_names SET b = 'zwei' WHERE a = 2 RETURNING a, b;
DELETE FROM opt_names WHERE a = 1;
SELECT * FROM "s 0.x"."Ta""ble" ORDER BY 1;
-- changed options are obeyed, by cached plans too
CREATE TABLE s0.opt_a (v text);
CREATE TABLE s0.opt_b (v text, w text);
INSERT INTO s0.opt_a VALUES ('table a');
INSERT INTO s0.opt_b VALUES ('table b', 'column w');
CREATE FOREIGN TABLE opt_change (v text)
  SERVER shard0 OPTIONS (schema_name 's0', table_name 'opt_a');
PREPARE opt_p AS SELECT * FROM opt_change;
EXECUTE opt_p;
ALTER FOREIGN TABLE opt_change OPTIONS (SET table_name 'opt_b');
EXECUTE opt_p;
ALTER FOREIGN TABLE opt_change ALTER v OPTIONS (ADD column_name 'w');
EXECUTE opt_p;
ALTER FOREIGN TABLE opt_change OPTIONS (ADD updatable 'false');
INSERT INTO opt_change VALUES ('no');
UPDATE opt_change SET v = 'no';
DELETE FROM opt_change;
ALTER FOREIGN TABLE opt_change OPTIONS (SET updatable 'true', ADD truncatable 'false');
TRUNCATE opt_change;
ALTER SERVER shard0 OPTIONS (ADD updatable 'false');
ALTER FOREIGN TABLE opt_change OPTIONS (DROP updatable);
INSERT INTO opt_change VALUES ('no');
ALTER SERVER shard0 OPTIONS (DROP updatable);
INSERT INTO opt_change VALUES ('yes');
SELECT * FROM opt_change ORDER BY v;
DEALLOCATE opt_p;
-- row counts of fetches and batches change nothing but the number of trips
CREATE TABLE s0.opt_n (n int);
CREATE FOREIGN TABLE opt_n (n int) SERVER shard0 OPTIONS (schema_name 's0', fetch_size '7', batch_size '3');
INSERT INTO opt_n SELECT generate_series(1, 100);
SELECT count(*), sum(n) FROM opt_n;
BEGIN;
DECLARE c CURSOR FOR SELECT n FROM opt_n ORDER BY n;
FETCH 1 FROM c;
MOVE 97 FROM c;
FETCH ALL FROM c;
COMMIT;
DROP FOREIGN TABLE opt_names, opt_change, opt_n;
DROP TABLE s0.opt_a, s0.opt_b, s0.opt_n;
DROP SCHEMA "s 0.x" CASCADE;
