/*-------------------------------------------------------------------------
 *
 * compat_planner.h
 *	  What differs between the supported versions in the planner's interface.
 *
 * The rules are those of compat.h: one block per symbol, the newest behaviour
 * under a name beginning with compat_, and the version from which the block
 * can go.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_BASE_COMPAT_PLANNER_H
#define SHARD_FDW_BASE_COMPAT_PLANNER_H

#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "parser/parser.h"
#include "parser/parsetree.h"

#include "base/compat.h"

/* a path for a foreign table, no node of it disabled; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define compat_create_foreignscan_path(root_, rel_, rows_, startup_, total_, \
									   pathkeys_, outer_, restrictinfo_, \
									   private_) \
	create_foreignscan_path((root_), (rel_), NULL, (rows_), 0, (startup_), \
							(total_), (pathkeys_), (outer_), NULL, \
							(restrictinfo_), (private_))
#elif PG_VERSION_NUM >= 170000
#define compat_create_foreignscan_path(root_, rel_, rows_, startup_, total_, \
									   pathkeys_, outer_, restrictinfo_, \
									   private_) \
	create_foreignscan_path((root_), (rel_), NULL, (rows_), (startup_), \
							(total_), (pathkeys_), (outer_), NULL, \
							(restrictinfo_), (private_))
#else
#define compat_create_foreignscan_path(root_, rel_, rows_, startup_, total_, \
									   pathkeys_, outer_, restrictinfo_, \
									   private_) \
	create_foreignscan_path((root_), (rel_), NULL, (rows_), (startup_), \
							(total_), (pathkeys_), (outer_), NULL, (private_))
#endif

/* the user a table is read for, InvalidOid the current one; until 15 is gone */
#if PG_VERSION_NUM >= 160000
#define compat_rel_userid(root_, rel_) ((rel_)->userid)
#else
#define compat_rel_userid(root_, rel_) \
	(planner_rt_fetch((rel_)->relid, (root_))->checkAsUser)
#endif

/* nothing to switch any more; until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define compat_is_backslash_literal() true
#else
#define compat_is_backslash_literal() standard_conforming_strings
#endif

/* Vars that stand for the old or new row in RETURNING; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define compat_var_is_plain(var_) \
	((var_)->varreturningtype == VAR_RETURNING_DEFAULT)
#else
#define compat_var_is_plain(var_) true
#endif

#endif							/* SHARD_FDW_BASE_COMPAT_PLANNER_H */
