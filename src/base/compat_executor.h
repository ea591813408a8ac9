/*-------------------------------------------------------------------------
 *
 * compat_executor.h
 *	  What differs between the supported versions of PostgreSQL for code that
 *	  runs plans.
 *
 * As compat.h, but with the executor's headers, which most of the extension
 * does not need.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_BASE_COMPAT_EXECUTOR_H
#define SHARD_FDW_BASE_COMPAT_EXECUTOR_H

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

#include "base/compat.h"

/* properties of EXPLAIN moved to a header of their own; until 17 is gone */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#else
#include "commands/explain.h"
#endif

/* the user as whom a scan runs; until 15 is gone */
#if PG_VERSION_NUM >= 160000
static inline Oid
compat_scan_userid(const ForeignScan *plan, EState *estate)
{
	return OidIsValid(plan->checkAsUser) ? plan->checkAsUser : GetUserId();
}
#else
static inline Oid
compat_scan_userid(const ForeignScan *plan, EState *estate)
{
	int			scanrelid = plan->scan.scanrelid;
	int			rti = scanrelid > 0 ? scanrelid : -1;
	Oid			userid;

	/* a VALUES list has no user */
	while (scanrelid == 0 &&
		   (rti = bms_next_member(plan->fs_relids, rti)) >= 0 &&
		   exec_rt_fetch(rti, estate)->rtekind != RTE_RELATION)
		;
	userid = exec_rt_fetch(rti, estate)->checkAsUser;
	return OidIsValid(userid) ? userid : GetUserId();
}
#endif

/*
 * The user as whom a result relation is written; one that tuples are routed
 * to is written as its root is.  Until 15 is gone.
 */
#if PG_VERSION_NUM >= 160000
#define compat_result_userid(rinfo, estate) \
	ExecGetResultRelCheckAsUser((rinfo), (estate))
#else
static inline Oid
compat_result_userid(const ResultRelInfo *rinfo, EState *estate)
{
	Oid			userid = InvalidOid;

	if (rinfo->ri_RangeTableIndex == 0 && rinfo->ri_RootResultRelInfo)
		rinfo = rinfo->ri_RootResultRelInfo;
	if (rinfo->ri_RangeTableIndex != 0)
		userid = exec_rt_fetch(rinfo->ri_RangeTableIndex, estate)->checkAsUser;
	return OidIsValid(userid) ? userid : GetUserId();
}
#endif

/* the arguments of ExecutorRun(); until 17 is gone */
#if PG_VERSION_NUM >= 180000
#define COMPAT_EXECUTOR_RUN_ARGS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define COMPAT_EXECUTOR_RUN_PASS queryDesc, direction, count
#else
#define COMPAT_EXECUTOR_RUN_ARGS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count, \
	bool execute_once
#define COMPAT_EXECUTOR_RUN_PASS queryDesc, direction, count, execute_once
#endif

/* the relations a statement changes, as a set; until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define compat_result_relations(stmt) ((stmt)->resultRelationRelids)
#else
static inline Bitmapset *
compat_result_relations(const PlannedStmt *stmt)
{
	Bitmapset  *relids = NULL;
	ListCell   *lc;

	foreach(lc, stmt->resultRelations)
		relids = bms_add_member(relids, lfirst_int(lc));
	return relids;
}
#endif

/* does the statement change the table?; until 18 is gone */
#if PG_VERSION_NUM >= 190000
#define compat_is_result_relation(statement_, rtindex_) \
	bms_is_member((rtindex_), (statement_)->resultRelationRelids)
#else
#define compat_is_result_relation(statement_, rtindex_) \
	list_member_int((statement_)->resultRelations, (rtindex_))
#endif

#endif							/* SHARD_FDW_BASE_COMPAT_EXECUTOR_H */
