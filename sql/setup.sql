-- Claim: the extension can be created, and servers that loop back to this
-- database can be used as shards.  The other scripts rely on what is made here:
-- servers shard0 and shard1, whose tables live in schemas s0 and s1, and a few
-- functions in schema test.
\set VERBOSITY terse
CREATE EXTENSION shard_fdw;
SELECT extname, nspname AS schema, extrelocatable
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE extname = 'shard_fdw';
CREATE SCHEMA s0;
CREATE SCHEMA s1;
CREATE SCHEMA test;
-- how to reach this server: by its first socket directory if it has one
CREATE FUNCTION test.host() RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(nullif(trim(split_part(current_setting('unix_socket_directories'), ',', 1)), ''),
    'localhost') $$;
-- a server that loops back, with a mapping for the current user
CREATE PROCEDURE test.make_server(name text, more text DEFAULT '')
  LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE SERVER %I FOREIGN DATA WRAPPER shard_fdw OPTIONS (host %L, port %L, dbname %L %s)',
    name, test.host(), current_setting('port'), current_database(), more);
  EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER %I OPTIONS (user %L)',
    name, current_user);
END $$;
CALL test.make_server('shard0');
CALL test.make_server('shard1');
-- what is prepared in this database under a name of shard_fdw
CREATE FUNCTION test.prepared() RETURNS bigint LANGUAGE sql AS $$
  SELECT count(*) FROM pg_prepared_xacts
  WHERE database = current_database() AND gid ^@ 'sfdw1_' $$;
-- waits until nothing is prepared, logged or in doubt any more
CREATE FUNCTION test.settled() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  FOR attempt IN 1..1000 LOOP
    IF test.prepared() = 0
      AND (SELECT count(*) FROM shard_fdw.commit_log) = 0
      AND (SELECT count(gid) FROM shard_fdw.in_doubt) = 0 THEN
      RETURN true;
    END IF;
    PERFORM pg_sleep(0.01);
  END LOOP;
  RETURN false;
END $$;
-- runs a statement and returns the SQLSTATE of its error, or 00000
CREATE FUNCTION test.sqlstate(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  RETURN '00000';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;
-- a condition that only the coordinator can evaluate
CREATE FUNCTION test.here(boolean) RETURNS boolean
  LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN $1; END $$;
-- for deferred constraint triggers: a shard that refuses to commit
CREATE FUNCTION test.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'refused by %', TG_TABLE_SCHEMA;
END $$;
-- a row written on the coordinator's side is found on the shard, and back
CREATE TABLE s0.hello (id int PRIMARY KEY, word text);
CREATE FOREIGN TABLE hello (id int, word text)
  SERVER shard0 OPTIONS (schema_name 's0');
INSERT INTO hello VALUES (1, 'from the coordinator');
INSERT INTO s0.hello VALUES (2, 'from the shard');
SELECT * FROM hello ORDER BY id;
SELECT * FROM s0.hello ORDER BY id;
DROP FOREIGN TABLE hello;
DROP TABLE s0.hello;
