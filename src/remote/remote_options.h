/*-------------------------------------------------------------------------
 *
 * remote_options.h
 *	  From the options of a foreign server and a user mapping to libpq
 *	  keywords, and the rules that keep a user from borrowing the server's
 *	  own credentials.
 *
 * The keywords come from libpq's own list, so a newer libpq brings its own.
 * Nothing here connects or waits.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_REMOTE_REMOTE_OPTIONS_H
#define SHARD_FDW_REMOTE_REMOTE_OPTIONS_H

#include "foreign/foreign.h"

/* Where a libpq keyword may be set. */
typedef struct RemoteKeyword
{
	const char *keyword;
	bool		on_server;		/* as an option of a foreign server */
	bool		on_mapping;		/* as an option of a user mapping */
} RemoteKeyword;

/*
 * All libpq keywords a user may set, *nkeywords of them, in libpq's order;
 * lives as long as the session.
 */
extern const RemoteKeyword *remote_options_keywords(int *nkeywords);

/*
 * What stands between us and the shard: pool_mode.  A pooler does not know the
 * startup parameters that the settings of a session travel in, and tells
 * process ids of its own.
 */
typedef enum RemotePooling
{
	REMOTE_POOLING_NONE,		/* the shard itself */
	REMOTE_POOLING_SESSION,		/* our session is one on the shard */
	REMOTE_POOLING_TRANSACTION	/* each transaction may be in another session
								 * of the shard: no state outlives it */
} RemotePooling;

typedef struct RemoteOptions
{
	const char **keywords;		/* NULL-terminated, for libpq */
	const char **values;
	int			connect_timeout_ms;
	bool		keep_connection;
	RemotePooling pooling;
	bool		needs_own_password; /* the user must not connect on the
									 * server's credentials: check after
									 * connecting that a password was used */
	bool		may_use_delegated;	/* Kerberos credentials that the client
									 * has delegated are as good */
} RemoteOptions;

/*
 * Builds the connection parameters in the current memory context.  Raises
 * ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED where a user who is not a
 * superuser lacks a password of his own (unless a superuser has set
 * password_required to false on the mapping).
 */
extern RemoteOptions *remote_options_build(const ForeignServer *server,
										   const UserMapping *user);

/*
 * The same parameters as one libpq connection string, for a subscription; the
 * settings of our own sessions are not part of it.  Raises as
 * remote_options_build() does, and where there is no such string.
 */
extern char *remote_options_conninfo(const ForeignServer *server,
									 const UserMapping *user);

/* Raises when the text is no value of pool_mode. */
extern RemotePooling remote_options_parse_pooling(const char *value);

/*
 * The settings that the wrapper relies on, where they do not travel in the
 * startup packet: the statement that sets the first, the second, ... for the
 * session, NULL behind the last; and a query that sets all of them for one
 * transaction.
 */
extern const char *remote_options_setting_sql(int position);
extern const char *remote_options_settings_query(void);

#endif							/* SHARD_FDW_REMOTE_REMOTE_OPTIONS_H */
