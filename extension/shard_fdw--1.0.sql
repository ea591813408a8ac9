/* extension/shard_fdw--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION shard_fdw" to load this file. \quit

-- ---------------------------------------------------------------------------
-- The wrapper
-- ---------------------------------------------------------------------------

CREATE FUNCTION @extschema@.shard_fdw_handler()
RETURNS pg_catalog.fdw_handler
AS 'MODULE_PATHNAME', 'shard_fdw_handler'
LANGUAGE C STRICT;

CREATE FUNCTION @extschema@.shard_fdw_validator(pg_catalog.text[], pg_catalog.oid)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shard_fdw_validator'
LANGUAGE C STRICT;

CREATE FOREIGN DATA WRAPPER shard_fdw
	HANDLER @extschema@.shard_fdw_handler
	VALIDATOR @extschema@.shard_fdw_validator;

-- for CREATE SUBSCRIPTION ... SERVER; the last argument keeps others from calling it
CREATE FUNCTION @extschema@.shard_fdw_connection(pg_catalog.oid, pg_catalog.oid, pg_catalog.internal)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'shard_fdw_connection'
LANGUAGE C STRICT PARALLEL RESTRICTED;

DO $$
BEGIN
	IF pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.>=) 190000 THEN
		EXECUTE 'ALTER FOREIGN DATA WRAPPER shard_fdw CONNECTION @extschema@.shard_fdw_connection';
	END IF;
END
$$;

-- ---------------------------------------------------------------------------
-- Who this coordinator is, and what it decided
--
-- Neither table is dumped: a restored copy is another coordinator, and must
-- not decide about the transactions of the first.
-- ---------------------------------------------------------------------------

CREATE TABLE @extschema@.coordinator (
	identity pg_catalog.int8 NOT NULL,
	created_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(),
	is_only_row pg_catalog.bool NOT NULL DEFAULT true PRIMARY KEY
		CHECK (is_only_row)
);

COMMENT ON TABLE @extschema@.coordinator IS
'identity of this coordinator in the names of the transactions it prepares; one row, made by CREATE EXTENSION, never to be changed';

INSERT INTO @extschema@.coordinator (identity)
VALUES (('x' || pg_catalog.left(
			pg_catalog.encode(
				pg_catalog.sha256(pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
								  || pg_catalog.uuid_send(pg_catalog.gen_random_uuid())),
				'hex'),
			16))::pg_catalog.bit(64)::pg_catalog.int8);

CREATE TABLE @extschema@.commit_log (
	xid pg_catalog.xid8 NOT NULL,
	token pg_catalog.int8 NOT NULL,
	incarnation pg_catalog.int8 NOT NULL,
	logged_at pg_catalog.timestamptz NOT NULL,
	servers pg_catalog.oid[] NOT NULL,
	users pg_catalog.oid[] NOT NULL,
	branches pg_catalog.int4[] NOT NULL,
	remote_xids pg_catalog.xid8[] NOT NULL,
	systems pg_catalog.int8[] NOT NULL,
	timelines pg_catalog.int4[] NOT NULL,
	PRIMARY KEY (xid, token)
) WITH (
	-- rows live for seconds: vacuum by number, often and at once, and never
	-- take the exclusive lock for truncation that a commit would wait for
	autovacuum_vacuum_scale_factor = 0,
	autovacuum_vacuum_threshold = 2000,
	autovacuum_vacuum_insert_threshold = -1,
	autovacuum_vacuum_cost_delay = 0,
	autovacuum_analyze_scale_factor = 0,
	autovacuum_analyze_threshold = 100000,
	vacuum_truncate = false,
	toast.vacuum_truncate = false
);

COMMENT ON TABLE @extschema@.commit_log IS
'one row for each transaction committed in two phases that is not known yet to be finished on all shards';
COMMENT ON COLUMN @extschema@.commit_log.xid IS
'transaction on this server; the row is visible if and only if it committed';
COMMENT ON COLUMN @extschema@.commit_log.token IS
'random number of the transaction: an xid can be handed out again after a crash';
COMMENT ON COLUMN @extschema@.commit_log.servers IS
'foreign server of each participant';
COMMENT ON COLUMN @extschema@.commit_log.users IS
'user whose mapping each participant was reached with';
COMMENT ON COLUMN @extschema@.commit_log.branches IS
'branch number of each participant in the name of its prepared transaction';
COMMENT ON COLUMN @extschema@.commit_log.remote_xids IS
'transaction of each participant on its shard; 0 where not known';
COMMENT ON COLUMN @extschema@.commit_log.systems IS
'system identifier of the server that prepared it; 0 where not known';
COMMENT ON COLUMN @extschema@.commit_log.timelines IS
'timeline of that server at that time; 0 where not known';

-- ---------------------------------------------------------------------------
-- Connections
-- ---------------------------------------------------------------------------

CREATE FUNCTION @extschema@.get_connections(
	check_conn pg_catalog.bool DEFAULT false,
	OUT server_name pg_catalog.text,
	OUT user_name pg_catalog.text,
	OUT valid pg_catalog.bool,
	OUT used_in_xact pg_catalog.bool,
	OUT closed pg_catalog.bool,
	OUT remote_backend_pid pg_catalog.int4)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'shard_fdw_get_connections'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.get_connections(pg_catalog.bool) IS
'connections to shards that this session has open';

CREATE FUNCTION @extschema@.disconnect(server pg_catalog.text)
RETURNS pg_catalog.bool
AS 'MODULE_PATHNAME', 'shard_fdw_disconnect'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.disconnect(pg_catalog.text) IS
'close the connections of this session to a server';

CREATE FUNCTION @extschema@.disconnect_all()
RETURNS pg_catalog.bool
AS 'MODULE_PATHNAME', 'shard_fdw_disconnect_all'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.disconnect_all() IS
'close all connections of this session to shards';

-- ---------------------------------------------------------------------------
-- Moving here from postgres_fdw, and back
-- ---------------------------------------------------------------------------

CREATE FUNCTION @extschema@.set_wrapper(
	server pg_catalog.text,
	wrapper pg_catalog.text DEFAULT 'shard_fdw')
RETURNS pg_catalog.int4
AS 'MODULE_PATHNAME', 'shard_fdw_set_wrapper'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.set_wrapper(pg_catalog.text, pg_catalog.text) IS
'give a foreign server, with its mappings and tables, another foreign-data wrapper';

REVOKE ALL ON FUNCTION @extschema@.set_wrapper(pg_catalog.text, pg_catalog.text) FROM PUBLIC;

-- ---------------------------------------------------------------------------
-- Transactions in doubt
-- ---------------------------------------------------------------------------

CREATE FUNCTION @extschema@.resolve(
	server pg_catalog.text DEFAULT NULL,
	OUT server_name pg_catalog.text,
	OUT complete pg_catalog.bool,
	OUT committed pg_catalog.int4,
	OUT rolled_back pg_catalog.int4,
	OUT waiting pg_catalog.int4,
	OUT failed pg_catalog.int4,
	OUT lost pg_catalog.int4,
	OUT error pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'shard_fdw_resolve'
LANGUAGE C PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.resolve(pg_catalog.text) IS
'settle now what is in doubt on a server, or on all';

REVOKE ALL ON FUNCTION @extschema@.resolve(pg_catalog.text) FROM PUBLIC;

CREATE FUNCTION @extschema@.transaction_status(token pg_catalog.text)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'shard_fdw_transaction_status'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.transaction_status(pg_catalog.text) IS
'outcome of a transaction by the token given with SQLSTATE 08007, or by the name of a prepared transaction';

CREATE FUNCTION @extschema@.find_in_doubt(
	OUT server pg_catalog.text,
	OUT gid pg_catalog.text,
	OUT xid pg_catalog.xid8,
	OUT state pg_catalog.text,
	OUT since pg_catalog.timestamptz,
	OUT attempts pg_catalog.int4,
	OUT last_error pg_catalog.text,
	OUT next_try pg_catalog.timestamptz)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'shard_fdw_find_in_doubt'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.find_in_doubt() IS
'asks all shards; see view in_doubt';

-- it connects with the credentials of any user mapping
REVOKE ALL ON FUNCTION @extschema@.find_in_doubt() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.find_in_doubt() TO pg_monitor;

CREATE VIEW @extschema@.in_doubt AS
	SELECT d.server, d.gid, d.xid, d.state, d.since, d.attempts, d.last_error,
		   d.next_try
	FROM @extschema@.find_in_doubt() d;

COMMENT ON VIEW @extschema@.in_doubt IS
'transactions that are not finished on every shard, and shards that cannot be asked';

GRANT SELECT ON @extschema@.commit_log, @extschema@.in_doubt TO pg_monitor;

-- ---------------------------------------------------------------------------
-- Statistics
-- ---------------------------------------------------------------------------

CREATE FUNCTION @extschema@.get_stat_shards(
	OUT server_oid pg_catalog.oid,
	OUT connections pg_catalog.int8,
	OUT statements pg_catalog.int8,
	OUT trips pg_catalog.int8,
	OUT rows pg_catalog.int8,
	OUT bytes pg_catalog.int8,
	OUT errors pg_catalog.int8,
	OUT prepares pg_catalog.int8,
	OUT commits pg_catalog.int8,
	OUT one_phase_commits pg_catalog.int8,
	OUT recovered pg_catalog.int8,
	OUT time_waited pg_catalog.float8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'shard_fdw_get_stat_shards'
LANGUAGE C STRICT PARALLEL RESTRICTED;

CREATE VIEW @extschema@.stat_shards AS
	SELECT s.srvname AS server,
		   coalesce(c.connections, 0) AS connections,
		   coalesce(c.statements, 0) AS statements,
		   coalesce(c.trips, 0) AS trips,
		   coalesce(c.rows, 0) AS rows,
		   coalesce(c.bytes, 0) AS bytes,
		   coalesce(c.errors, 0) AS errors,
		   coalesce(c.prepares, 0) AS prepares,
		   coalesce(c.commits, 0) AS commits,
		   coalesce(c.one_phase_commits, 0) AS one_phase_commits,
		   coalesce(c.recovered, 0) AS recovered,
		   coalesce(c.time_waited, 0) AS time_waited
	FROM pg_catalog.pg_foreign_server s
		 JOIN pg_catalog.pg_foreign_data_wrapper w
			 ON w.oid OPERATOR(pg_catalog.=) s.srvfdw
				AND w.fdwname OPERATOR(pg_catalog.=) 'shard_fdw'
		 LEFT JOIN @extschema@.get_stat_shards() c
			 ON c.server_oid OPERATOR(pg_catalog.=) s.oid;

COMMENT ON VIEW @extschema@.stat_shards IS
'what was sent to and received from each shard; time_waited is in milliseconds';

CREATE FUNCTION @extschema@.get_stat_transactions(
	OUT method pg_catalog.text,
	OUT commits pg_catalog.int8,
	OUT rollbacks pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'shard_fdw_get_stat_transactions'
LANGUAGE C STRICT PARALLEL RESTRICTED;

CREATE VIEW @extschema@.stat_transactions AS
	SELECT t.method, t.commits, t.rollbacks
	FROM @extschema@.get_stat_transactions() t;

COMMENT ON VIEW @extschema@.stat_transactions IS
'local transactions that used shards, by the way they were committed';

GRANT SELECT ON @extschema@.stat_shards, @extschema@.stat_transactions TO PUBLIC;

GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;
