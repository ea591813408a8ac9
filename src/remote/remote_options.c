/*-------------------------------------------------------------------------
 *
 * remote_options.c
 *	  From the options of a foreign server and a user mapping to libpq
 *	  keywords, and the rules that keep a user from borrowing the server's
 *	  own credentials.
 *
 * The rules: somebody who is not a superuser connects only with a password
 * from his own user mapping, or with what his client has lent to this session
 * (the keys of its SCRAM authentication where use_scram_passthrough is on,
 * delegated Kerberos credentials), and after connecting it is checked that
 * the shard really asked for it (remote_conn.c).  Otherwise the shard might have
 * let the operating system user of this server in, by trust, peer, ident, a
 * client certificate, Kerberos or a password file.  A superuser can lift that
 * for one mapping with password_required = false.
 *
 * Session state the wrapper relies on travels in the startup packet, so it
 * costs no round trip and cannot be lost: styles in which values are printed
 * and read the same everywhere, search_path without user schemas, and READ
 * ONLY for statements that run outside an explicit block.  A pooler takes no
 * such packet; there the settings go ahead of the first statement of the
 * session or of each transaction, in the same flush.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "common/base64.h"
#include "common/string.h"
#include "libpq-fe.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/compat_port.h"
#include "base/settings.h"
#include "remote/remote_options.h"

/* libpq keywords that only this module sets */
static const char *const internal_keywords[] = {
	"client_encoding", "fallback_application_name", "replication"
};

typedef struct SessionSetting
{
	const char *name;
	const char *value;
	bool		is_for_connection;	/* of no use where the connection is that
									 * of a pooler */
} SessionSetting;

static const SessionSetting session_settings[] = {
	{"search_path", "pg_catalog", false},
	{"timezone", "GMT", false},
	{"datestyle", "ISO", false},
	{"intervalstyle", "postgres", false},
	{"extra_float_digits", "3", false},
	/* literals mean on the shard what they mean here, backslashes included */
	{"standard_conforming_strings", "on", false},
	{"array_nulls", "on", false},
	{"default_transaction_read_only", "on", false},
	{"default_transaction_isolation", "read committed", false},
	{"default_transaction_deferrable", "off", false},
	/* a shard lets go of what a vanished coordinator held within a minute */
	{"tcp_keepalives_idle", "30", true},
	{"tcp_keepalives_interval", "10", true},
	{"tcp_keepalives_count", "3", true}
};

/*
 * A pooler whose client has gone closes the connection, which the shard looks
 * at only now and then, if it can: from version 14 on, and not everywhere.
 */
static const char client_check[] =
", CASE WHEN pg_catalog.current_setting('server_version_num')::pg_catalog.int4"
" OPERATOR(pg_catalog.>=) 140000"
" AND pg_catalog.version() OPERATOR(pg_catalog.~~) '%linux%' THEN"
" pg_catalog.set_config('client_connection_check_interval', '2s', true) END";

/*
 * Newer minor releases refuse libpq options they do not know, so that an
 * upgrade of the libpq package cannot undermine the rules above.  The
 * function may be missing at run time.
 */
extern bool libpqsrv_is_valid_proxy_option(const char *keyword)
			__attribute__((weak));

static bool
is_internal_keyword(const char *keyword)
{
	int			position;

	for (position = 0; position < lengthof(internal_keywords); position++)
	{
		if (strcmp(keyword, internal_keywords[position]) == 0)
			return true;
	}
	return strncmp(keyword, "oauth_", 6) == 0;
}

static bool
is_certificate_keyword(const char *keyword)
{
	return strcmp(keyword, "sslcert") == 0 || strcmp(keyword, "sslkey") == 0;
}

const RemoteKeyword *
remote_options_keywords(int *nkeywords)
{
	static RemoteKeyword *known = NULL;
	static int	nknown = 0;
	PQconninfoOption *defaults;
	PQconninfoOption *option;
	int			count = 0;

	if (known)
	{
		*nkeywords = nknown;
		return known;
	}
	defaults = PQconndefaults();
	if (defaults == NULL)
		ereport(ERROR,
				errcode(ERRCODE_FDW_OUT_OF_MEMORY),
				errmsg("out of memory"),
				errdetail("Could not get libpq's default connection options."));
	for (option = defaults; option->keyword; option++)
		count++;
	known = MemoryContextAllocZero(TopMemoryContext,
								   sizeof(RemoteKeyword) * count);
	for (option = defaults; option->keyword; option++)
	{
		bool		is_secret = strchr(option->dispchar, '*') != NULL;
		bool		is_user = strcmp(option->keyword, "user") == 0;

		/* options for debugging libpq are nobody's business */
		if (strchr(option->dispchar, 'D') || is_internal_keyword(option->keyword))
			continue;
		if (libpqsrv_is_valid_proxy_option &&
			!libpqsrv_is_valid_proxy_option(option->keyword))
			continue;
		known[nknown].keyword = MemoryContextStrdup(TopMemoryContext,
													option->keyword);
		known[nknown].on_server = !is_user && !is_secret;
		known[nknown].on_mapping = is_user || is_secret ||
			is_certificate_keyword(option->keyword) ||
			strcmp(option->keyword, "gssdelegation") == 0;
		nknown++;
	}
	PQconninfoFree(defaults);
	*nkeywords = nknown;
	return known;
}

static bool
is_libpq_keyword(const char *keyword)
{
	int			nkeywords;
	const RemoteKeyword *keywords = remote_options_keywords(&nkeywords);
	int			position;

	for (position = 0; position < nkeywords; position++)
	{
		if (strcmp(keywords[position].keyword, keyword) == 0)
			return true;
	}
	return false;
}

static const char *
find_option(List *options, const char *name)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, name) == 0)
			return defGetString(option);
	}
	return NULL;
}

static bool
find_bool_option(List *options, const char *name, bool default_value)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, name) == 0)
			return defGetBoolean(option);
	}
	return default_value;
}

/*
 * May the user connect on whatever lets this server's own account in?
 */
static bool
needs_own_password(const UserMapping *user)
{
	if (superuser_arg(user->userid))
		return false;
	return find_bool_option(user->options, "password_required", true);
}

static bool
find_keyword(const RemoteOptions *options, const char *keyword)
{
	int			position;

	for (position = 0; options->keywords[position]; position++)
	{
		if (strcmp(options->keywords[position], keyword) == 0)
			return true;
	}
	return false;
}

static void
check_own_password(const RemoteOptions *options, const UserMapping *user)
{
	const char *password = find_option(user->options, "password");

	if ((password && password[0] != '\0') || options->may_use_delegated ||
		find_keyword(options, "scram_client_key"))
		return;
	ereport(ERROR,
			errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
			errmsg(COMPAT_PASSWORD_REQUIRED),
			errdetail(COMPAT_PASSWORD_MISSING));
}

/*
 * Replaces the escapes %a %c %C %d %u %p %% of shard_fdw.application_name.
 */
static char *
expand_application_name(const char *pattern)
{
	StringInfoData buf;
	const char *c;

	initStringInfo(&buf);
	for (c = pattern; *c; c++)
	{
		if (*c != '%')
		{
			appendStringInfoChar(&buf, *c);
			continue;
		}
		c++;
		if (*c == '\0')
			break;
		switch (*c)
		{
			case 'a':
				appendStringInfoString(&buf, application_name);
				break;
			case 'c':
				appendStringInfo(&buf, "%lx.%x", (long) MyStartTime, MyProcPid);
				break;
			case 'C':
				appendStringInfoString(&buf, cluster_name);
				break;
			case 'd':
				appendStringInfoString(&buf, get_database_name(MyDatabaseId));
				break;
			case 'u':
				appendStringInfoString(&buf,
									   GetUserNameFromId(GetSessionUserId(),
														 false));
				break;
			case 'p':
				appendStringInfo(&buf, "%d", MyProcPid);
				break;
			case '%':
				appendStringInfoChar(&buf, '%');
				break;
			default:
				break;
		}
	}
	return buf.data;
}

/* Keywords and values under construction. */
typedef struct KeywordList
{
	RemoteOptions *options;
	int			count;
} KeywordList;

static void
add_keyword(KeywordList *list, const char *keyword, const char *value)
{
	list->options->keywords[list->count] = pstrdup(keyword);
	list->options->values[list->count] = pstrdup(value);
	list->count++;
}

static void
add_libpq_options(KeywordList *list, List *options)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		/* these are passed on in a form of their own */
		if (strcmp(option->defname, "options") == 0 ||
			strcmp(option->defname, "application_name") == 0 ||
			strcmp(option->defname, "connect_timeout") == 0)
			continue;
		if (is_libpq_keyword(option->defname))
			add_keyword(list, option->defname, defGetString(option));
	}
}

static bool
uses_scram_passthrough(const ForeignServer *server, const UserMapping *user)
{
	return find_bool_option(user->options, "use_scram_passthrough",
							find_bool_option(server->options,
											 "use_scram_passthrough", false));
}

static const char *
base64(const uint8 *bytes, int length)
{
	int			size = pg_b64_enc_len(length);
	char	   *text = palloc(size + 1);
	int			used = pg_b64_encode((const void *) bytes, length, text, size);

	if (used < 0)
		elog(ERROR, "could not encode a SCRAM key");
	text[		used] = '\0';
	return text;
}

/*
 * The keys that the client's authentication has left in this session.  The
 * shard must ask for nothing but SCRAM: it could be made to let us in without.
 */
static void
add_scram_keys(KeywordList *list)
{
	const uint8 *client_key;
	const uint8 *server_key;
	int			length;

	if (!compat_get_scram_keys(&client_key, &server_key, &length))
		return;
	add_keyword(list, "scram_client_key", base64(client_key, length));
	add_keyword(list, "scram_server_key", base64(server_key, length));
	add_keyword(list, "require_auth", "scram-sha-256");
}

/*
 * The text is taken as it is when the option is written, as those of all libpq
 * options are.
 */
static int
parse_timeout(const ForeignServer *server, const char *value)
{
	char	   *end;
	int			seconds;

	errno = 0;
	seconds = strtoint(value, &end, 10);
	while (isspace((unsigned char) *end))
		end++;
	if (end == value || *end != '\0' || errno == ERANGE)
		ereport(ERROR,
				errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("invalid value for integer option \"%s\": %s",
					   "connect_timeout", value[0] ? value : "\"\""),
				errdetail("The option of server \"%s\" is a number of seconds.",
						  server->servername));
	return seconds;
}

/*
 * libpq leaves connect_timeout to whoever connects without blocking.  As in
 * libpq, less than 2 seconds counts as 2 and 0 means no limit; ours is then
 * the setting, since nothing may wait for ever.
 */
static int
connect_timeout_ms(const ForeignServer *server)
{
	const char *value = find_option(server->options, "connect_timeout");
	int			seconds = value ? parse_timeout(server, value) : 0;

	if (seconds <= 0)
		return setting_connect_timeout;
	return Min(Max(seconds, 2), INT_MAX / 1000) * 1000;
}

/*
 * For the keyword options: the user's own first, so that ours win.
 */
static char *
startup_settings(const char *user_options)
{
	StringInfoData buf;
	int			position;
	const char *c;

	initStringInfo(&buf);
	if (user_options)
		appendStringInfoString(&buf, user_options);
	for (position = 0; position < lengthof(session_settings); position++)
	{
		appendStringInfo(&buf, " -c %s=", session_settings[position].name);
		for (c = session_settings[position].value; *c; c++)
		{
			if (*c == ' ')
				appendStringInfoChar(&buf, '\\');
			appendStringInfoChar(&buf, *c);
		}
	}
	return buf.data;
}

const char *
remote_options_setting_sql(int position)
{
	const SessionSetting *setting = &session_settings[position];

	if (position >= lengthof(session_settings) || setting->is_for_connection)
		return NULL;
	return psprintf("SET %s = '%s'", setting->name, setting->value);
}

const char *
remote_options_settings_query(void)
{
	static char *query = NULL;
	StringInfoData buf;
	int			position;

	if (query)
		return query;
	initStringInfo(&buf);
	for (position = 0; position < lengthof(session_settings); position++)
	{
		const SessionSetting *setting = &session_settings[position];

		if (setting->is_for_connection)
			break;
		appendStringInfo(&buf, "%s pg_catalog.set_config('%s', '%s', true)",
						 position == 0 ? "SELECT" : ",",
						 setting->name, setting->value);
	}
	appendStringInfoString(&buf, client_check);
	query = MemoryContextStrdup(TopMemoryContext, buf.data);
	pfree(buf.data);
	return query;
}

RemotePooling
remote_options_parse_pooling(const char *value)
{
	static const char *const names[] = {"none", "session", "transaction"};
	int			mode;

	for (mode = 0; mode < lengthof(names); mode++)
	{
		if (strcmp(value, names[mode]) == 0)
			return (RemotePooling) mode;
	}
	ereport(ERROR,
			errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("invalid value for string option \"%s\": %s",
				   "pool_mode", value[0] ? value : "\"\""),
			errhint("Valid values are \"none\", \"session\" and \"transaction\"."));
	return REMOTE_POOLING_NONE; /* keep compiler quiet */
}

static void
append_conninfo(StringInfo buf, const char *keyword, const char *value)
{
	const char *c;

	appendStringInfo(buf, "%s%s='", buf->len > 0 ? " " : "", keyword);
	for (c = value; *c; c++)
	{
		if (*c == '\'' || *c == '\\')
			appendStringInfoChar(buf, '\\');
		appendStringInfoChar(buf, *c);
	}
	appendStringInfoChar(buf, '\'');
}

static void
append_libpq_options(StringInfo buf, List *options)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (is_libpq_keyword(option->defname))
			append_conninfo(buf, option->defname, defGetString(option));
	}
}

char *
remote_options_conninfo(const ForeignServer *server, const UserMapping *user)
{
	StringInfoData buf;

	if (uses_scram_passthrough(server, user))
		ereport(ERROR,
				errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("cannot use SCRAM pass-through for a subscription"),
				errdetail("A subscription has no client whose keys could be passed on."));
	if (needs_own_password(user))
	{
		RemoteOptions none = {0};
		const char *no_keyword = NULL;

		none.keywords = &no_keyword;
		check_own_password(&none, user);
	}
	initStringInfo(&buf);
	append_libpq_options(&buf, server->options);
	append_libpq_options(&buf, user->options);
	append_conninfo(&buf, "fallback_application_name", "shard_fdw");
	return buf.data;
}

RemoteOptions *
remote_options_build(const ForeignServer *server, const UserMapping *user)
{
	KeywordList list = {0};
	int			max_keywords;
	const char *user_options = find_option(server->options, "options");
	const char *application = find_option(server->options, "application_name");
	const char *pool_mode = find_option(server->options, "pool_mode");

	if (setting_application_name && setting_application_name[0])
		application = setting_application_name;
	max_keywords = list_length(server->options) +
		list_length(user->options) + 12;
	list.options = palloc0(sizeof(RemoteOptions));
	list.options->keywords = palloc0(sizeof(char *) * max_keywords);
	list.options->values = palloc0(sizeof(char *) * max_keywords);

	/* a host that vanished is noticed; the server's options override these */
	add_keyword(&list, "keepalives_idle", "30");
	add_keyword(&list, "keepalives_interval", "10");
	add_keyword(&list, "keepalives_count", "3");
	add_libpq_options(&list, server->options);
	add_libpq_options(&list, user->options);
	if (application)
		add_keyword(&list, "application_name",
					expand_application_name(application));
	add_keyword(&list, "fallback_application_name", "shard_fdw");
	add_keyword(&list, "client_encoding", GetDatabaseEncodingName());
	if (pool_mode)
		list.options->pooling = remote_options_parse_pooling(pool_mode);
	if (list.options->pooling == REMOTE_POOLING_NONE)
		add_keyword(&list, "options", startup_settings(user_options));
	else if (user_options)
		add_keyword(&list, "options", user_options);

	if (uses_scram_passthrough(server, user))
		add_scram_keys(&list);

	list.options->may_use_delegated = compat_has_delegated_credentials();
	list.options->needs_own_password = needs_own_password(user);
	if (list.options->needs_own_password)
		check_own_password(list.options, user);
	list.options->connect_timeout_ms = connect_timeout_ms(server);
	list.options->keep_connection =
		find_bool_option(server->options, "keep_connections", true);
	return list.options;
}
