/*-------------------------------------------------------------------------
 *
 * fdw_options.c
 *	  The options of servers, user mappings, tables and columns.
 *
 * An option is a row of one table: its name, the kinds of objects it may be
 * set on, the function that checks a value, and the function that puts the
 * value into FdwTableOptions.  Options that other modules read for themselves
 * (names, the life of connections) have no second function.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "base/compat.h"
#include "fdw/fdw_options.h"
#include "remote/remote_options.h"

/* the kinds of objects an option may be set on */
#define ON_SERVER	0x01
#define ON_MAPPING	0x02
#define ON_TABLE	0x04
#define ON_COLUMN	0x08

/* names further away than this are not worth a hint */
#define MAX_HINT_DISTANCE 4

typedef struct OwnOption
{
	const char *name;
	int			places;
	void		(*check) (DefElem *def);
	void		(*apply) (FdwTableOptions *options, DefElem *def);
} OwnOption;

PGDLLEXPORT Datum shard_fdw_validator(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(shard_fdw_validator);

/* ---- values ---- */

/* libpq looks at it, where it knows the option */
static void
check_nothing(DefElem *def)
{
}

static void
check_boolean(DefElem *def)
{
	(void) defGetBoolean(def);
}

static void
check_name(DefElem *def)
{
	if (defGetString(def)[0] == '\0')
		ereport(ERROR,
				errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				errmsg("invalid value for option \"%s\": \"\"",
					   def->defname),
				errdetail("The name must not be empty."));
}

/* For messages: an empty value has to be seen. */
static const char *
shown(const char *value)
{
	return value[0] == '\0' ? "\"\"" : value;
}

static double
parse_cost(DefElem *def)
{
	char	   *value = defGetString(def);
	double		cost;

	if (!parse_real(value, &cost, 0, NULL))
		ereport(ERROR,
				errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("invalid value for floating point option \"%s\": %s",
					   def->defname, shown(value)));
	if (cost < 0)
		ereport(ERROR,
				errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("\"%s\" must be a floating point value greater than or equal to zero",
					   def->defname));
	return cost;
}

static void
check_cost(DefElem *def)
{
	(void) parse_cost(def);
}

static int
parse_count(DefElem *def)
{
	char	   *value = defGetString(def);
	const char *hint = NULL;
	int			count;

	if (!parse_int(value, &count, 0, &hint))
		ereport(ERROR,
				errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("invalid value for integer option \"%s\": %s",
					   def->defname, shown(value)),
				hint ? errhint("%s", _(hint)) : 0);
	if (count <= 0)
		ereport(ERROR,
				errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("\"%s\" must be an integer value greater than zero",
					   def->defname));
	return count;
}

static void
check_count(DefElem *def)
{
	(void) parse_count(def);
}

static FdwSampling
parse_sampling(DefElem *def)
{
	static const struct
	{
		const char *name;
		FdwSampling sampling;
	}			methods[] = {
		{"auto", FDW_SAMPLING_AUTO},
		{"bernoulli", FDW_SAMPLING_BERNOULLI},
		{"off", FDW_SAMPLING_OFF},
		{"random", FDW_SAMPLING_RANDOM},
		{"system", FDW_SAMPLING_SYSTEM}
	};
	char	   *value = defGetString(def);
	int			position;

	for (position = 0; position < lengthof(methods); position++)
	{
		if (strcmp(value, methods[position].name) == 0)
			return methods[position].sampling;
	}
	ereport(ERROR,
			errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("invalid value for string option \"%s\": %s",
				   def->defname, shown(value)),
			errhint("Valid values are \"auto\", \"bernoulli\", \"off\", \"random\" and \"system\"."));
	return FDW_SAMPLING_OFF;	/* keep compiler quiet */
}

static void
check_sampling(DefElem *def)
{
	(void) parse_sampling(def);
}

/*
 * The oids of the extensions in a list of names.  Those not installed are
 * left out, with a warning where the user is just typing the list.
 */
static List *
parse_extensions(DefElem *def, bool warns)
{
	List	   *oids = NIL;
	List	   *names;
	ListCell   *cell;

	/* the parser of lists writes into its input */
	if (!SplitIdentifierString(pstrdup(defGetString(def)), ',', &names))
		ereport(ERROR,
				errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("parameter \"%s\" must be a list of extension names",
					   def->defname));
	foreach(cell, names)
	{
		const char *name = lfirst(cell);
		Oid			oid = get_extension_oid(name, true);

		if (OidIsValid(oid))
			oids = list_append_unique_oid(oids, oid);
		else if (warns)
			ereport(WARNING,
					errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("extension \"%s\" is not installed", name));
	}
	list_free(names);
	return oids;
}

static void
check_extensions(DefElem *def)
{
	(void) parse_extensions(def, true);
}

static void
check_pool_mode(DefElem *def)
{
	(void) remote_options_parse_pooling(defGetString(def));
}

static void
check_password_required(DefElem *def)
{
	if (!defGetBoolean(def) && !superuser())
		ereport(ERROR,
				errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				errmsg("password_required=false is superuser-only"),
				errhint("User mappings with the password_required option set to false may only be created or modified by the superuser."));
}

/* ---- into FdwTableOptions ---- */

static void
apply_use_remote_estimate(FdwTableOptions *options, DefElem *def)
{
	options->use_remote_estimate = defGetBoolean(def);
}

static void
apply_startup_cost(FdwTableOptions *options, DefElem *def)
{
	options->startup_cost = parse_cost(def);
}

static void
apply_tuple_cost(FdwTableOptions *options, DefElem *def)
{
	options->tuple_cost = parse_cost(def);
}

static void
apply_extensions(FdwTableOptions *options, DefElem *def)
{
	options->extensions = parse_extensions(def, false);
}

static void
apply_fetch_size(FdwTableOptions *options, DefElem *def)
{
	options->fetch_size = parse_count(def);
	options->has_fetch_size = true;
}

static void
apply_batch_size(FdwTableOptions *options, DefElem *def)
{
	options->batch_size = parse_count(def);
}

static void
apply_updatable(FdwTableOptions *options, DefElem *def)
{
	options->is_updatable = defGetBoolean(def);
}

static void
apply_truncatable(FdwTableOptions *options, DefElem *def)
{
	options->is_truncatable = defGetBoolean(def);
}

static void
apply_async_capable(FdwTableOptions *options, DefElem *def)
{
	options->is_async_capable = defGetBoolean(def);
}

static void
apply_sampling(FdwTableOptions *options, DefElem *def)
{
	options->sampling = parse_sampling(def);
}

static void
apply_import_stats(FdwTableOptions *options, DefElem *def)
{
	options->imports_stats = defGetBoolean(def);
}

/* sorted by name */
static const OwnOption own_options[] = {
	{"analyze_sampling", ON_SERVER | ON_TABLE, check_sampling, apply_sampling},
	{"async_capable", ON_SERVER | ON_TABLE, check_boolean, apply_async_capable},
	{"batch_size", ON_SERVER | ON_TABLE, check_count, apply_batch_size},
	{"column_name", ON_COLUMN, check_name, NULL},
	{"extensions", ON_SERVER, check_extensions, apply_extensions},
	{"fdw_startup_cost", ON_SERVER, check_cost, apply_startup_cost},
	{"fdw_tuple_cost", ON_SERVER, check_cost, apply_tuple_cost},
	{"fetch_size", ON_SERVER | ON_TABLE, check_count, apply_fetch_size},
	{"gssdelegation", ON_SERVER | ON_MAPPING, check_nothing, NULL},
	{"import_stats", ON_SERVER | ON_TABLE, check_boolean, apply_import_stats},
	{"keep_connections", ON_SERVER, check_boolean, NULL},
	{"parallel_abort", ON_SERVER, check_boolean, NULL},
	{"parallel_commit", ON_SERVER, check_boolean, NULL},
	{"password_required", ON_MAPPING, check_password_required, NULL},
	{"pool_mode", ON_SERVER, check_pool_mode, NULL},
	{"schema_name", ON_TABLE, check_name, NULL},
	{"table_name", ON_TABLE, check_name, NULL},
	{"truncatable", ON_SERVER | ON_TABLE, check_boolean, apply_truncatable},
	{"updatable", ON_SERVER | ON_TABLE, check_boolean, apply_updatable},
	{"use_remote_estimate", ON_SERVER | ON_TABLE, check_boolean,
	apply_use_remote_estimate},
	{"use_scram_passthrough", ON_SERVER | ON_MAPPING, check_boolean, NULL}
};

/* ---- the validator ---- */

static int
place_of_catalog(Oid catalog)
{
	switch (catalog)
	{
		case ForeignServerRelationId:
			return ON_SERVER;
		case UserMappingRelationId:
			return ON_MAPPING;
		case ForeignTableRelationId:
			return ON_TABLE;
		case AttributeRelationId:
			return ON_COLUMN;
		default:
			return 0;			/* the wrapper itself has no options */
	}
}

static int
places_of_keyword(const RemoteKeyword *keyword)
{
	return (keyword->on_server ? ON_SERVER : 0) |
		(keyword->on_mapping ? ON_MAPPING : 0);
}

static const OwnOption *
find_own_option(const char *name, int place)
{
	int			position;

	for (position = 0; position < lengthof(own_options); position++)
	{
		const OwnOption *option = &own_options[position];

		if ((option->places & place) != 0 && strcmp(option->name, name) == 0)
			return option;
	}
	return NULL;
}

static bool
is_libpq_option(const char *name, int place)
{
	int			nkeywords;
	const RemoteKeyword *keywords = remote_options_keywords(&nkeywords);
	int			position;

	for (position = 0; position < nkeywords; position++)
	{
		if ((places_of_keyword(&keywords[position]) & place) != 0 &&
			strcmp(keywords[position].keyword, name) == 0)
			return true;
	}
	return false;
}

/* Makes the candidate the nearest one if it is nearer. */
static void
compare_distance(const char *name, const char *candidate,
				 const char **nearest, int *distance)
{
	int			length = strlen(name);
	int			candidate_length = strlen(candidate);
	int			limit = Min(MAX_HINT_DISTANCE,
							Max(length, candidate_length) / 2);
	int			found;

	found = varstr_levenshtein_less_equal(name, length,
										  candidate, candidate_length,
										  1, 1, 1, limit, true);
	if (found <= limit && found < *distance)
	{
		*nearest = candidate;
		*distance = found;
	}
}

/* The valid option whose name is most like the given one, or NULL. */
static const char *
nearest_option(const char *name, int place)
{
	int			nkeywords;
	const RemoteKeyword *keywords = remote_options_keywords(&nkeywords);
	const char *nearest = NULL;
	int			distance = MAX_HINT_DISTANCE + 1;
	int			position;

	/* nobody means a name as long as this, and the comparison is quadratic */
	if (strlen(name) > NAMEDATALEN)
		return NULL;
	for (position = 0; position < lengthof(own_options); position++)
	{
		if ((own_options[position].places & place) != 0)
			compare_distance(name, own_options[position].name,
							 &nearest, &distance);
	}
	for (position = 0; position < nkeywords; position++)
	{
		if ((places_of_keyword(&keywords[position]) & place) != 0)
			compare_distance(name, keywords[position].keyword,
							 &nearest, &distance);
	}
	return nearest;
}

/* The kind of object that has an option of that name, or NULL. */
static const char *
right_place(const char *name)
{
	static const struct
	{
		int			place;
		const char *kind;
	}			kinds[] = {
		{ON_SERVER, "foreign server"},
		{ON_MAPPING, "user mapping"},
		{ON_TABLE, "foreign table"},
		{ON_COLUMN, "column"}
	};
	int			position;

	for (position = 0; position < lengthof(kinds); position++)
	{
		if (find_own_option(name, kinds[position].place) ||
			is_libpq_option(name, kinds[position].place))
			return kinds[position].kind;
	}
	return NULL;
}

static void
report_invalid_option(const char *name, int place)
{
	const char *right = right_place(name);
	const char *nearest = right ? NULL : nearest_option(name, place);

	ereport(ERROR,
			errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
			errmsg("invalid option \"%s\"", name),
			right ? errhint("It is an option of a %s.", right) :
			nearest ? errhint("Perhaps you meant the option \"%s\".", nearest) :
			place == 0 ? errhint("There are no valid options in this context.") :
			0);
}

/* The files are read by the server, with the rights of the server. */
static void
check_libpq_option(const char *name, int place)
{
	if (place == ON_MAPPING && !superuser() &&
		(strcmp(name, "sslcert") == 0 || strcmp(name, "sslkey") == 0))
		ereport(ERROR,
				errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				errmsg("sslcert and sslkey are superuser-only"),
				errhint("User mappings with the sslcert or sslkey options set may only be created or modified by the superuser."));
}

Datum
shard_fdw_validator(PG_FUNCTION_ARGS)
{
	List	   *defs = untransformRelOptions(PG_GETARG_DATUM(0));
	int			place = place_of_catalog(PG_GETARG_OID(1));
	ListCell   *cell;

	foreach(cell, defs)
	{
		DefElem    *def = lfirst(cell);
		const OwnOption *option = find_own_option(def->defname, place);

		if (option)
			option->check(def);
		else if (is_libpq_option(def->defname, place))
			check_libpq_option(def->defname, place);
		else
			report_invalid_option(def->defname, place);
	}
	PG_RETURN_VOID();
}

/* ---- reading ---- */

static void
apply_options(FdwTableOptions *options, List *defs, int place)
{
	ListCell   *cell;

	foreach(cell, defs)
	{
		DefElem    *def = lfirst(cell);
		const OwnOption *option = find_own_option(def->defname, place);

		if (option && option->apply)
			option->apply(options, def);
	}
}

FdwTableOptions *
fdw_options_read(const ForeignServer *server, const ForeignTable *table)
{
	FdwTableOptions *options = palloc0(sizeof(FdwTableOptions));

	options->startup_cost = 100.0;
	options->tuple_cost = 0.2;
	options->fetch_size = 1000;
	options->batch_size = 1000;
	options->is_updatable = true;
	options->is_truncatable = true;
	options->is_async_capable = true;
	options->sampling = FDW_SAMPLING_AUTO;
	apply_options(options, server->options, ON_SERVER);
	apply_options(options, table->options, ON_TABLE);
	return options;
}
