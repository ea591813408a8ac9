/*-------------------------------------------------------------------------
 *
 * partial_agg.h
 *	  Aggregates of which each shard computes its part.
 *
 * The server's plan for that is a partial aggregate below, whose results are
 * transition values, and a finalizing one on top.  A partial aggregate that
 * runs on a shard must therefore give the transition value core would have
 * computed.  Three ways:
 *
 * - an aggregate without final function: its result is the transition value;
 * - one with a transition value that SQL can build: an array of sums;
 * - one with a value of type internal, which travels serialized: the shard
 *	 sends its ingredients as an array of numeric, and what core's deserialize
 *	 function will read is made of them here.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_PARTIAL_AGG_H
#define SHARD_FDW_FDW_PARTIAL_AGG_H

#include "lib/stringinfo.h"
#include "nodes/pathnodes.h"
#include "nodes/primnodes.h"

#include "fdw/remote_expr.h"

/* Can a shard compute it?  The scope must allow aggregates. */
extern bool partial_agg_is_shippable(Aggref *aggref, const ShipScope *scope);

/* Appends the expression a shard has to compute. */
extern void partial_agg_append(StringInfo buf, RemoteExprContext *context,
							   Aggref *aggref);

/*
 * Does the expression of a scan's target arrive as an array of ingredients?
 * They are of type numeric[].
 */
extern bool partial_agg_has_ingredients(Node *expr);

/* Makes the serialized transition value, a bytea, of the ingredients. */
extern Datum partial_agg_serialize(Node *expr, Datum ingredients);

#endif							/* SHARD_FDW_FDW_PARTIAL_AGG_H */
