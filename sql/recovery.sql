-- Claim: recovery does the right thing in every combination of what it can
-- find: {log row, none} x {prepared on the shard, not} x {local transaction
-- running, ended}, touches nothing else, and what cannot be repaired is
-- reported and kept.
\set VERBOSITY terse
CREATE EXTENSION IF NOT EXISTS dblink;
CREATE TABLE s0.mark (name text PRIMARY KEY);
-- a second session, which plays the transaction that died
SELECT format('host=%s port=%s dbname=%s user=%s', test.host(),
    current_setting('port'), current_database(), current_user) AS other \gset
SELECT dblink_connect('other', :'other');
-- this run of this coordinator
CREATE FUNCTION test.incarnation() RETURNS bigint LANGUAGE sql AS $$
  SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint $$;
-- the name of a branch of this coordinator
CREATE FUNCTION test.gid(xid xid8, token bigint, branch int DEFAULT 0)
RETURNS text LANGUAGE sql AS $$
  SELECT format('sfdw1_%s_%s_%s_%s_%s_%s_%s_%s', lpad(to_hex(identity), 16, '0'),
    d.oid, test.incarnation(), xid, lpad(to_hex(token), 16, '0'), branch, s.oid,
    current_user::regrole::oid)
  FROM shard_fdw.coordinator, pg_database d, pg_foreign_server s
  WHERE d.datname = current_database() AND s.srvname = 'shard0' $$;
-- prepares a branch that leaves a mark if it is committed
CREATE PROCEDURE test.prepare(name text, gid text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM dblink_exec('other', format('BEGIN; INSERT INTO s0.mark VALUES (%L); PREPARE TRANSACTION %L', name, gid));
END $$;
-- writes a log row for it
CREATE PROCEDURE test.log(xid xid8, token bigint, remote xid8) LANGUAGE sql AS $$
  INSERT INTO shard_fdw.commit_log
  SELECT xid, token, test.incarnation(), now(), ARRAY[oid], ARRAY[current_user::regrole::oid],
    ARRAY[0], ARRAY[remote], ARRAY[0], ARRAY[0] FROM pg_foreign_server WHERE srvname = 'shard0' $$;
-- the xid of a branch on its shard, which is this server
CREATE FUNCTION test.remote_xid(gid text) RETURNS xid8 LANGUAGE sql AS $$
  SELECT transaction::text::xid8 FROM pg_prepared_xacts p WHERE p.gid = $1 $$;
-- one xid that committed, and one that aborted
BEGIN;
SELECT pg_current_xact_id() AS committed \gset
COMMIT;
BEGIN;
SELECT pg_current_xact_id() AS aborted \gset
ROLLBACK;

-- prepared, no row, ended by ROLLBACK: rolled back
CALL test.prepare('aborted', test.gid(:'aborted', 1));
-- prepared, no row, although the xid committed (K): rolled back
CALL test.prepare('same xid, other token', test.gid(:'committed', 2));
-- prepared, no row, an xid that was never handed out: rolled back
CALL test.prepare('future', test.gid('4000000000000', 3));
-- prepared, no row, an xid of another epoch: rolled back
CALL test.prepare('past', test.gid('5', 4));
SELECT count(*) > 0 AS called FROM shard_fdw.resolve();
SELECT test.settled();
SELECT * FROM s0.mark;

-- prepared and a row with this xid and token: committed, and the row goes
BEGIN;
CALL test.prepare('committed', test.gid(:'committed', 5));
CALL test.log(:'committed', 5, test.remote_xid(test.gid(:'committed', 5)));
COMMIT;
SELECT count(*) > 0 AS called FROM shard_fdw.resolve();
SELECT test.settled();
SELECT * FROM s0.mark;

-- a row, not prepared, and the shard says that its xid committed: forgotten
BEGIN;
SELECT pg_current_xact_id() AS remote \gset
COMMIT;
CALL test.log(:'committed', 6, :'remote');
SELECT count(*) > 0 AS called FROM shard_fdw.resolve();
SELECT test.settled();

-- the same behind more rows than are asked for at a time, whose xid the shard
-- says is in progress: those wait, and it does not
SELECT dblink_exec('other', 'BEGIN');
SELECT remote AS in_progress FROM dblink('other', 'SELECT pg_current_xact_id()::text') AS (remote xid8) \gset
INSERT INTO shard_fdw.commit_log
  SELECT :'committed', token, test.incarnation(), now(), ARRAY[oid], ARRAY[current_user::regrole::oid],
    ARRAY[0], ARRAY[:'in_progress'::xid8], ARRAY[0], ARRAY[0]
  FROM pg_foreign_server, generate_series(10001, 11001) token WHERE srvname = 'shard0';
CALL test.log(:'committed', 7, :'remote');
SELECT server_name, waiting >= 1001 AS waiting, failed FROM shard_fdw.resolve('shard0');
SELECT count(*), count(*) FILTER (WHERE token = 7) AS behind FROM shard_fdw.commit_log;
SELECT dblink_exec('other', 'COMMIT');
SELECT count(*) > 0 AS called FROM shard_fdw.resolve('shard0');
SELECT test.settled();

-- prepared and the transaction runs here: nothing is done
BEGIN;
SELECT pg_current_xact_id() AS running \gset
CALL test.prepare('running', test.gid(:'running', 7));
SELECT server, xid = :'running'::xid8 AS is_its_xid, state
  FROM shard_fdw.in_doubt;
SELECT server_name, complete, committed, rolled_back, waiting, failed, lost, error
  FROM shard_fdw.resolve('shard0');
SELECT test.prepared();
SELECT shard_fdw.transaction_status(test.gid(:'running', 7));
COMMIT;
SELECT count(*) > 0 AS called FROM shard_fdw.resolve();
SELECT test.settled();
-- it committed, but wrote no row: that is an abort (A)
SELECT * FROM s0.mark;
SELECT shard_fdw.transaction_status(test.gid(:'running', 7));

-- a row, not prepared, and the shard's xid aborted: lost, kept, reported (D)
BEGIN;
SELECT pg_current_xact_id() AS remote \gset
ROLLBACK;
CALL test.log(:'committed', 8, :'remote');
SELECT server_name, complete, committed, rolled_back, waiting, failed, lost, error
  FROM shard_fdw.resolve('shard0');
SELECT server, gid = test.gid(:'committed', 8) AS is_its_name, state
  FROM shard_fdw.in_doubt;
SELECT count(*) FROM shard_fdw.commit_log;
SELECT shard_fdw.transaction_status(test.gid(:'committed', 8));
-- nothing it needs can be dropped (J), except by force
SET client_min_messages = error;
SELECT test.sqlstate('DROP USER MAPPING FOR CURRENT_USER SERVER shard0');
SELECT test.sqlstate('DROP SERVER shard0 CASCADE');
SELECT test.sqlstate('DROP EXTENSION shard_fdw CASCADE');
BEGIN;
DROP USER MAPPING FOR CURRENT_USER SERVER shard1;
ROLLBACK;
CALL test.make_server('unneeded');
DROP SERVER unneeded CASCADE;
SET shard_fdw.allow_drop_in_doubt = on;
BEGIN;
DROP SERVER shard0 CASCADE;
SELECT count(*) FROM pg_foreign_server WHERE srvname = 'shard0';
ROLLBACK;
RESET shard_fdw.allow_drop_in_doubt;
RESET client_min_messages;
DELETE FROM shard_fdw.commit_log;

-- a row whose xid on the shard was never told, or is in the future: lost, too
CALL test.log(:'committed', 9, '0');
CALL test.log(:'committed', 10, '4000000000000');
SELECT complete, lost FROM shard_fdw.resolve('shard0');
DELETE FROM shard_fdw.commit_log;

-- what belongs to others is not touched (F)
CALL test.prepare('application', 'order-17');
CALL test.prepare('other coordinator',
  regexp_replace(test.gid(:'aborted', 11), '^sfdw1_.{16}', 'sfdw1_0123456789abcdef'));
CALL test.prepare('other database',
  regexp_replace(test.gid(:'aborted', 12), '^(sfdw1_.{16}_)\d+', '\11'));
CALL test.prepare('not quite ours', test.gid(:'aborted', 13) || '_0');
SELECT server_name, complete, committed, rolled_back, waiting, failed, lost, error
  FROM shard_fdw.resolve('shard0');
SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database();
SELECT count(gid) FROM shard_fdw.in_doubt;
SELECT dblink_exec('other', format('ROLLBACK PREPARED %L', gid))
  FROM pg_prepared_xacts WHERE database = current_database();

-- what another incarnation has prepared waits while that one lives, and is
-- settled when it is gone (F)
SELECT regexp_replace(test.gid(:'aborted', 16), '^(sfdw1_.{16}_\d+_)\d+', '\11') AS other_gid \gset
SELECT hashtextextended(substring(:'other_gid' from '^sfdw1_.{16}_\d+_\d+'), 0) AS other_lock \gset
CALL test.prepare('other incarnation', :'other_gid');
SELECT length(dblink_exec('other', format('DO $$BEGIN PERFORM pg_advisory_lock_shared(%s); END$$', :other_lock))) > 0 AS locked;
SELECT server_name, complete, committed, rolled_back, waiting, failed, lost, error
  FROM shard_fdw.resolve('shard0');
SELECT state, gid = :'other_gid' AS is_it FROM shard_fdw.in_doubt;
SELECT length(dblink_exec('other', 'DO $$BEGIN PERFORM pg_advisory_unlock_all(); END$$')) > 0 AS unlocked;
-- the worker may be quicker
SELECT count(*) AS others FROM shard_fdw.in_doubt
  WHERE gid <> :'other_gid' OR state <> 'abort pending';
SELECT count(*) > 0 AS called FROM shard_fdw.resolve();
SELECT test.settled();
SELECT * FROM s0.mark;

-- a server that cannot be reached is in doubt, and says why
CREATE SERVER nowhere FOREIGN DATA WRAPPER shard_fdw
  OPTIONS (host 'localhost', port '1', dbname 'nowhere');
CREATE USER MAPPING FOR CURRENT_USER SERVER nowhere;
SELECT server_name, complete, error ~ 'could not connect to server "nowhere"' AS says_why
  FROM shard_fdw.resolve('nowhere');
SELECT server, gid, state, last_error IS NOT NULL AS says_why
  FROM shard_fdw.in_doubt;
DROP USER MAPPING FOR CURRENT_USER SERVER nowhere;
DROP SERVER nowhere;

-- resolve() is not for transactions that are part of what is to be resolved
CREATE FOREIGN TABLE mark (name text) SERVER shard0 OPTIONS (schema_name 's0');
BEGIN;
SELECT count(*) FROM mark;
SELECT * FROM shard_fdw.resolve();
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM shard_fdw.resolve();
ROLLBACK;
SELECT * FROM shard_fdw.resolve('no such server');

-- tokens
SELECT shard_fdw.transaction_status('nonsense');
SELECT shard_fdw.transaction_status(test.gid(:'aborted', 14));
SELECT shard_fdw.transaction_status(
  regexp_replace(test.gid(:'aborted', 15), '^sfdw1_.{16}', 'sfdw1_0123456789abcdef'));

-- the library is newer than the extension, or older
BEGIN;
ALTER TABLE shard_fdw.commit_log ADD COLUMN more int;
SELECT count(*) FROM mark;
ROLLBACK;

SELECT dblink_disconnect('other');
DROP FOREIGN TABLE mark;
DROP TABLE s0.mark;
DROP FUNCTION test.gid, test.incarnation, test.remote_xid;
DROP PROCEDURE test.prepare, test.log;
DROP EXTENSION dblink;
