/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The configuration parameters of shard_fdw.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "base/compat.h"
#include "base/settings.h"

bool		setting_two_phase_commit = true;
bool		setting_allow_drop_in_doubt = false;
bool		setting_binary_results = true;
bool		setting_explain_pushdown = false;
bool		setting_partitionwise = true;
int			setting_isolation = SHARD_ISOLATION_MATCH;
int			setting_commit_timeout = 30000;
int			setting_connect_timeout = 10000;
int			setting_cancel_timeout = 800;
int			setting_response_timeout = 60000;
int			setting_recovery_interval = 60000;
char	   *setting_application_name = NULL;

static const struct config_enum_entry isolation_values[] = {
	{"match", SHARD_ISOLATION_MATCH, false},
	{"snapshot", SHARD_ISOLATION_SNAPSHOT, false},
	{NULL, 0, false}
};

/* one row for each boolean parameter, sorted by name */
static const struct
{
	const char *name;
	const char *description;
	bool	   *variable;
	bool		boot_value;
	GucContext	context;
}			bool_settings[] =

{
	{"shard_fdw.allow_drop_in_doubt",
		"Lets servers and user mappings be dropped that transactions in doubt need.",
	&setting_allow_drop_in_doubt, false, PGC_SUSET},
	{"shard_fdw.binary_results",
		"Lets rows travel in the binary format where their types allow it.",
	&setting_binary_results, true, PGC_USERSET},
	{"shard_fdw.explain_pushdown",
		"Lets EXPLAIN tell what is not pushed down to servers, and why.",
	&setting_explain_pushdown, false, PGC_USERSET},
	{"shard_fdw.partitionwise",
		"Plans joins and aggregates of tables on servers partition by partition.",
	&setting_partitionwise, true, PGC_USERSET},
	{"shard_fdw.two_phase_commit",
		"Commits transactions that wrote to several servers in two phases.",
	&setting_two_phase_commit, true, PGC_USERSET}
};

/* one row for each time, in milliseconds, sorted by name */
static const struct
{
	const char *name;
	const char *description;
	int		   *variable;
	int			boot_value;
	int			min_value;
	GucContext	context;
}			time_settings[] =

{
	{"shard_fdw.cancel_timeout",
		"Longest wait for a server to stop what it runs for us.",
	&setting_cancel_timeout, 800, 100, PGC_USERSET},
	{"shard_fdw.commit_timeout",
		"Longest wait for the answers to one step of a commit.",
	&setting_commit_timeout, 30000, 100, PGC_USERSET},
	{"shard_fdw.connect_timeout",
		"Longest wait for a connection, where the server's options set none.",
	&setting_connect_timeout, 10000, 100, PGC_USERSET},
	{"shard_fdw.recovery_interval",
		"Time between two recovery passes while nothing is known to be in doubt.",
	&setting_recovery_interval, 60000, 1000, PGC_SIGHUP},
	{"shard_fdw.response_timeout",
		"Silence of a server after which it is checked that it still works for us; 0 never checks.",
	&setting_response_timeout, 60000, 0, PGC_USERSET}
};

void
settings_define(void)
{
	int			row;

	for (row = 0; row < lengthof(bool_settings); row++)
		DefineCustomBoolVariable(bool_settings[row].name,
								 bool_settings[row].description,
								 NULL,
								 bool_settings[row].variable,
								 bool_settings[row].boot_value,
								 bool_settings[row].context, 0,
								 NULL, NULL, NULL);
	for (row = 0; row < lengthof(time_settings); row++)
		DefineCustomIntVariable(time_settings[row].name,
								time_settings[row].description,
								NULL,
								time_settings[row].variable,
								time_settings[row].boot_value,
								time_settings[row].min_value, INT_MAX,
								time_settings[row].context, GUC_UNIT_MS,
								NULL, NULL, NULL);
	DefineCustomEnumVariable("shard_fdw.isolation",
							 "Isolation level of transactions on servers.",
							 NULL,
							 &setting_isolation, SHARD_ISOLATION_MATCH,
							 isolation_values, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomStringVariable("shard_fdw.application_name",
							   "Application name of connections to servers.",
							   NULL,
							   &setting_application_name, NULL,
							   PGC_USERSET, GUC_IS_NAME,
							   NULL, NULL, NULL);
	MarkGUCPrefixReserved("shard_fdw");
}
