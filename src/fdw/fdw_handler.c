/*-------------------------------------------------------------------------
 *
 * fdw_handler.c
 *	  The table of callbacks that makes shard_fdw a foreign-data wrapper.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "base/compat.h"
#include "fdw/fdw_handler.h"

PGDLLEXPORT Datum shard_fdw_handler(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(shard_fdw_handler);

static void
set_planner_callbacks(FdwRoutine *routine)
{
	routine->GetForeignRelSize = shardGetForeignRelSize;
	routine->GetForeignPaths = shardGetForeignPaths;
	routine->GetForeignJoinPaths = shardGetForeignJoinPaths;
	routine->GetForeignUpperPaths = shardGetForeignUpperPaths;
	routine->GetForeignPlan = shardGetForeignPlan;
	routine->AddForeignUpdateTargets = shardAddForeignUpdateTargets;
	routine->PlanForeignModify = shardPlanForeignModify;
	routine->PlanDirectModify = shardPlanDirectModify;
	routine->IsForeignRelUpdatable = shardIsForeignRelUpdatable;
}

static void
set_scan_callbacks(FdwRoutine *routine)
{
	routine->BeginForeignScan = shardBeginForeignScan;
	routine->IterateForeignScan = shardIterateForeignScan;
	routine->ReScanForeignScan = shardReScanForeignScan;
	routine->EndForeignScan = shardEndForeignScan;
	routine->RecheckForeignScan = shardRecheckForeignScan;
	routine->IsForeignPathAsyncCapable = shardIsForeignPathAsyncCapable;
	routine->ForeignAsyncRequest = shardForeignAsyncRequest;
	routine->ForeignAsyncConfigureWait = shardForeignAsyncConfigureWait;
	routine->ForeignAsyncNotify = shardForeignAsyncNotify;
}

static void
set_modify_callbacks(FdwRoutine *routine)
{
	routine->BeginDirectModify = shardBeginDirectModify;
	routine->IterateDirectModify = shardIterateDirectModify;
	routine->EndDirectModify = shardEndDirectModify;
	routine->BeginForeignModify = shardBeginForeignModify;
	routine->ExecForeignInsert = shardExecForeignInsert;
	routine->ExecForeignBatchInsert = shardExecForeignBatchInsert;
	routine->GetForeignModifyBatchSize = shardGetForeignModifyBatchSize;
	routine->ExecForeignUpdate = shardExecForeignUpdate;
	routine->ExecForeignDelete = shardExecForeignDelete;
	routine->EndForeignModify = shardEndForeignModify;
	routine->BeginForeignInsert = shardBeginForeignInsert;
	routine->EndForeignInsert = shardEndForeignInsert;
	routine->ExecForeignTruncate = shardExecForeignTruncate;
}

static void
set_utility_callbacks(FdwRoutine *routine)
{
	routine->ExplainForeignScan = shardExplainForeignScan;
	routine->ExplainForeignModify = shardExplainForeignModify;
	routine->ExplainDirectModify = shardExplainDirectModify;
	routine->AnalyzeForeignTable = shardAnalyzeForeignTable;
	compat_set_import_statistics(routine, shardImportForeignStatistics);
	routine->ImportForeignSchema = shardImportForeignSchema;
}

Datum
shard_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	set_planner_callbacks(routine);
	set_scan_callbacks(routine);
	set_modify_callbacks(routine);
	set_utility_callbacks(routine);
	PG_RETURN_POINTER(routine);
}
