/*-------------------------------------------------------------------------
 *
 * partial_agg.c
 *	  Aggregates of which each shard computes its part.
 *
 * Which aggregate is of which kind is told by its functions: the one that
 * serializes the transition value knows what is in it, and where there is
 * none the transition function does.  Aggregates that share a transition
 * value (avg and stddev of the same float8) must get equal ones, so avg gets
 * the squares as well.
 *
 * NaN and infinities: a sum over numeric that is one of them came from at
 * least one of them, and the final functions ask for no more than whether
 * there was any and how many values there were in all.  So the ingredients
 * are plain sums, and one special value is counted for all.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/numeric.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "fdw/partial_agg.h"

/* How a transition value is had. */
typedef enum PartialAgg
{
	PARTIAL_AGG_NONE,			/* not from a shard */
	PARTIAL_AGG_PLAIN,			/* the aggregate's result */
	PARTIAL_AGG_INT8_ARRAY,		/* {count, sum} */
	PARTIAL_AGG_FLOAT8_ARRAY,	/* {count, sum, sum of squared deviations} */
	PARTIAL_AGG_INT8_AVG,		/* serialized, as below */
	PARTIAL_AGG_POLY,
	PARTIAL_AGG_NUMERIC_AVG,
	PARTIAL_AGG_NUMERIC
} PartialAgg;

/* the numeric[] a shard sends */
enum Ingredient
{
	INGREDIENT_COUNT,
	INGREDIENT_SUM,
	INGREDIENT_SQUARES,			/* only where they are needed */
	INGREDIENT_MAX
};

/* What sign means in the external binary format of numeric. */
#define EXTERNAL_NAN	0xC000
#define EXTERNAL_PINF	0xD000
#define EXTERNAL_NINF	0xF000

/* ---- kinds ---- */

static PartialAgg
kind_of_internal(Oid serialize)
{
	switch (serialize)
	{
		case F_INT8_AVG_SERIALIZE:
			return PARTIAL_AGG_INT8_AVG;
		case F_NUMERIC_POLY_SERIALIZE:
			return PARTIAL_AGG_POLY;
		case F_NUMERIC_AVG_SERIALIZE:
			return PARTIAL_AGG_NUMERIC_AVG;
		case F_NUMERIC_SERIALIZE:
			return PARTIAL_AGG_NUMERIC;
		default:
			return PARTIAL_AGG_NONE;
	}
}

static PartialAgg
kind_of_transition(Oid transition)
{
	switch (transition)
	{
		case F_INT2_AVG_ACCUM:
		case F_INT4_AVG_ACCUM:
			return PARTIAL_AGG_INT8_ARRAY;
		case F_FLOAT4_ACCUM:
		case F_FLOAT8_ACCUM:
			return PARTIAL_AGG_FLOAT8_ARRAY;
		default:
			return PARTIAL_AGG_NONE;
	}
}

/* Of an Aggref that is the lower half of a partial aggregation. */
static PartialAgg
kind_of_partial(const Aggref *aggref)
{
	HeapTuple	tuple;
	Form_pg_aggregate form;
	PartialAgg	kind;

	if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggdistinct != NIL ||
		aggref->aggorder != NIL)
		return PARTIAL_AGG_NONE;
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	if (form->aggtranstype == INTERNALOID)
		kind = kind_of_internal(form->aggserialfn);
	else if (!OidIsValid(form->aggfinalfn))
		kind = PARTIAL_AGG_PLAIN;
	else
		kind = kind_of_transition(form->aggtransfn);
	ReleaseSysCache(tuple);
	return kind;
}

/* The aggregate as the shard would compute it as a whole. */
static Aggref *
make_whole(const Aggref *aggref)
{
	Aggref	   *whole = copyObject(unconstify(Aggref *, aggref));

	whole->aggsplit = AGGSPLIT_SIMPLE;
	return whole;
}

bool
partial_agg_is_shippable(Aggref *aggref, const ShipScope *scope)
{
	PartialAgg	kind = kind_of_partial(aggref);
	Aggref	   *whole = make_whole(aggref);

	if (kind == PARTIAL_AGG_NONE)
		return false;

	/* what is written for the others needs only the arguments */
	if (kind != PARTIAL_AGG_PLAIN)
		whole->aggtype = NUMERICOID;
	return shippable_expr((Node *) whole, scope);
}

bool
partial_agg_has_ingredients(Node *expr)
{
	Aggref	   *aggref = (Aggref *) expr;

	return IsA(expr, Aggref) && DO_AGGSPLIT_SERIALIZE(aggref->aggsplit) &&
		aggref->aggtranstype == INTERNALOID;
}

/* ---- what the shard computes ---- */

static char *
expr_text(RemoteExprContext *context, Node *expr)
{
	StringInfoData text;

	initStringInfo(&text);
	remote_expr_append(&text, context, expr);
	return text.data;
}

void
partial_agg_append(StringInfo buf, RemoteExprContext *context, Aggref *aggref)
{
	PartialAgg	kind = kind_of_partial(aggref);
	const char *x;
	const char *filter = "";

	if (kind == PARTIAL_AGG_PLAIN)
	{
		remote_expr_append(buf, context, (Node *) make_whole(aggref));
		return;
	}
	x = expr_text(context, (Node *)
				  linitial_node(TargetEntry, aggref->args)->expr);
	if (aggref->aggfilter)
		filter = psprintf(" FILTER (WHERE %s)",
						  expr_text(context, (Node *) aggref->aggfilter));
	switch (kind)
	{
		case PARTIAL_AGG_NONE:
		case PARTIAL_AGG_PLAIN:
			elog(ERROR, "aggregate %u is not computed in parts",
				 aggref->aggfnoid);
			break;
		case PARTIAL_AGG_INT8_ARRAY:
			appendStringInfo(buf,
							 "ARRAY[count(%s)%s, COALESCE(sum(%s)%s, 0)]",
							 x, filter, x, filter);
			break;
		case PARTIAL_AGG_FLOAT8_ARRAY:
			appendStringInfo(buf,
							 "ARRAY[count(%s)%s,"
							 " COALESCE(sum((%s)::float8)%s, 0),"
							 " COALESCE(regr_sxx(0, (%s)::float8)%s, 0)]",
							 x, filter, x, filter, x, filter);
			break;
		case PARTIAL_AGG_INT8_AVG:
		case PARTIAL_AGG_NUMERIC_AVG:
			appendStringInfo(buf, "ARRAY[count(%s)%s, sum(%s)%s]",
							 x, filter, x, filter);
			break;
		case PARTIAL_AGG_POLY:
		case PARTIAL_AGG_NUMERIC:
			appendStringInfo(buf,
							 "ARRAY[count(%s)%s, sum((%s)::numeric)%s,"
							 " sum((%s)::numeric * (%s)::numeric)%s]",
							 x, filter, x, filter, x, x, filter);
			break;
	}
}

/* ---- what is made of it here ---- */

/* A numeric taken apart, digits in network order. */
typedef struct Number
{
	int			ndigits;
	int			weight;
	int			sign;
	int			dscale;
	const char *digits;
} Number;

static int
read_int16(const char *bytes)
{
	return ((unsigned char) bytes[0] << 8) | (unsigned char) bytes[1];
}

static Number
take_apart(Datum value)
{
	bytea	   *sent = DatumGetByteaPP(DirectFunctionCall1(numeric_send, value));
	const char *bytes = VARDATA_ANY(sent);
	Number		number;

	number.ndigits = read_int16(bytes);
	number.weight = (int16) read_int16(bytes + 2);
	number.sign = read_int16(bytes + 4);
	number.dscale = read_int16(bytes + 6);
	number.digits = bytes + 8;
	return number;
}

static bool
is_special(const Number *number)
{
	return number->sign == EXTERNAL_NAN || number->sign == EXTERNAL_PINF ||
		number->sign == EXTERNAL_NINF;
}

static void
send_number(StringInfo buf, const Number *number)
{
	pq_sendint32(buf, number->ndigits);
	pq_sendint32(buf, number->weight);
	pq_sendint32(buf, number->sign);
	pq_sendint32(buf, number->dscale);
	appendBinaryStringInfo(buf, number->digits, 2 * number->ndigits);
}

/* An integer of 128 bits, high half first. */
static void
send_int128(StringInfo buf, const Number *number)
{
	uint32		limbs[4] = {0};
	uint64		carry;
	int			position;
	int			limb;

	/* digits are to the base of 10000 */
	for (position = 0; position <= number->weight; position++)
	{
		carry = position < number->ndigits ?
			read_int16(number->digits + 2 * position) : 0;
		for (limb = 0; limb < lengthof(limbs); limb++)
		{
			carry += (uint64) limbs[limb] * 10000;
			limbs[limb] = (uint32) carry;
			carry >>= 32;
		}
	}
	carry = 1;
	for (limb = 0; limb < lengthof(limbs) && number->sign != 0; limb++)
	{
		carry += (uint32) ~limbs[limb];
		limbs[limb] = (uint32) carry;
		carry >>= 32;
	}
	for (limb = lengthof(limbs) - 1; limb >= 0; limb--)
		pq_sendint32(buf, limbs[limb]);
}

/* A sum of integers. */
static void
send_integer(StringInfo buf, const Number *number)
{
	if (COMPAT_SERIALIZES_INT128)
		send_int128(buf, number);
	else
		send_number(buf, number);
}

/* The end of what numeric aggregates serialize. */
static void
send_special_counts(StringInfo buf, const Number *sum, int64 count, int sign)
{
	pq_sendint32(buf, sum->dscale); /* the largest scale there was */
	pq_sendint64(buf, count);	/* and how often, for moving aggregates */
	pq_sendint64(buf, sign == EXTERNAL_NAN);
	pq_sendint64(buf, sign == EXTERNAL_PINF);
	pq_sendint64(buf, sign == EXTERNAL_NINF);
}

Datum
partial_agg_serialize(Node *expr, Datum ingredients)
{
	static const Number zero = {0, 0, 0, 0, ""};
	PartialAgg	kind = kind_of_partial(castNode(Aggref, expr));
	Number		sum = zero;
	Number		squares = zero;
	int			special_sign = 0;
	Datum	   *values;
	bool	   *nulls;
	int			nvalues;
	int64		count;
	StringInfoData buf;

	deconstruct_array(DatumGetArrayTypeP(ingredients), NUMERICOID, -1, false,
					  TYPALIGN_INT, &values, &nulls, &nvalues);
	if (nvalues < INGREDIENT_SQUARES || nvalues > INGREDIENT_MAX ||
		nulls[INGREDIENT_COUNT])
		elog(ERROR, "unexpected ingredients of an aggregate");
	count = DatumGetInt64(DirectFunctionCall1(numeric_int8,
											  values[INGREDIENT_COUNT]));
	if (!nulls[INGREDIENT_SUM])
		sum = take_apart(values[INGREDIENT_SUM]);
	if (nvalues > INGREDIENT_SQUARES && !nulls[INGREDIENT_SQUARES])
		squares = take_apart(values[INGREDIENT_SQUARES]);
	if (is_special(&sum))
	{
		special_sign = sum.sign;
		sum = squares = zero;
		count--;
	}

	pq_begintypsend(&buf);
	pq_sendint64(&buf, count);
	switch (kind)
	{
		case PARTIAL_AGG_INT8_AVG:
			send_integer(&buf, &sum);
			break;
		case PARTIAL_AGG_POLY:
			send_integer(&buf, &sum);
			send_integer(&buf, &squares);
			break;
		case PARTIAL_AGG_NUMERIC_AVG:
			send_number(&buf, &sum);
			send_special_counts(&buf, &sum, count, special_sign);
			break;
		case PARTIAL_AGG_NUMERIC:
			send_number(&buf, &sum);
			send_number(&buf, &squares);
			send_special_counts(&buf, &sum, count, special_sign);
			break;
		default:
			elog(ERROR, "aggregate has no serialized transition value");
	}
	return PointerGetDatum(pq_endtypsend(&buf));
}
