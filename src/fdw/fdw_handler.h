/*-------------------------------------------------------------------------
 *
 * fdw_handler.h
 *	  The callbacks of the foreign-data wrapper, by the module that has them.
 *
 * Names are core's with our prefix; what each has to do, may raise and may
 * block is told in fdwapi.h and the manual.  fdw_handler.c puts them into
 * the FdwRoutine.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_FDW_HANDLER_H
#define SHARD_FDW_FDW_FDW_HANDLER_H

#include "foreign/fdwapi.h"

/* plan_scan.c */
extern void shardGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel,
								   Oid foreigntableid);
extern void shardGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel,
								 Oid foreigntableid);

/* plan_join.c */
extern void shardGetForeignJoinPaths(PlannerInfo *root, RelOptInfo *joinrel,
									 RelOptInfo *outerrel,
									 RelOptInfo *innerrel, JoinType jointype,
									 JoinPathExtraData *extra);

/* plan_upper.c */
extern void shardGetForeignUpperPaths(PlannerInfo *root,
									  UpperRelationKind stage,
									  RelOptInfo *input_rel,
									  RelOptInfo *output_rel, void *extra);

/* plan_create.c */
extern ForeignScan *shardGetForeignPlan(PlannerInfo *root,
										RelOptInfo *foreignrel,
										Oid foreigntableid,
										ForeignPath *best_path,
										List *tlist, List *scan_clauses,
										Plan *outer_plan);

/* plan_modify.c */
extern void shardAddForeignUpdateTargets(PlannerInfo *root, Index rtindex,
										 RangeTblEntry *target_rte,
										 Relation target_relation);
extern List *shardPlanForeignModify(PlannerInfo *root, ModifyTable *plan,
									Index resultRelation, int subplan_index);
extern bool shardPlanDirectModify(PlannerInfo *root, ModifyTable *plan,
								  Index resultRelation, int subplan_index);
extern int	shardIsForeignRelUpdatable(Relation rel);

/* exec_scan.c */
extern void shardBeginForeignScan(ForeignScanState *node, int eflags);
extern TupleTableSlot *shardIterateForeignScan(ForeignScanState *node);
extern void shardReScanForeignScan(ForeignScanState *node);
extern void shardEndForeignScan(ForeignScanState *node);
extern bool shardRecheckForeignScan(ForeignScanState *node,
									TupleTableSlot *slot);

/* exec_async.c */
extern bool shardIsForeignPathAsyncCapable(ForeignPath *path);
extern void shardForeignAsyncRequest(AsyncRequest *areq);
extern void shardForeignAsyncConfigureWait(AsyncRequest *areq);
extern void shardForeignAsyncNotify(AsyncRequest *areq);

/* exec_direct.c */
extern void shardBeginDirectModify(ForeignScanState *node, int eflags);
extern TupleTableSlot *shardIterateDirectModify(ForeignScanState *node);
extern void shardEndDirectModify(ForeignScanState *node);

/* exec_modify.c */
extern void shardBeginForeignModify(ModifyTableState *mtstate,
									ResultRelInfo *rinfo, List *fdw_private,
									int subplan_index, int eflags);
extern TupleTableSlot *shardExecForeignInsert(EState *estate,
											  ResultRelInfo *rinfo,
											  TupleTableSlot *slot,
											  TupleTableSlot *planSlot);
extern TupleTableSlot **shardExecForeignBatchInsert(EState *estate,
													ResultRelInfo *rinfo,
													TupleTableSlot **slots,
													TupleTableSlot **planSlots,
													int *numSlots);
extern int	shardGetForeignModifyBatchSize(ResultRelInfo *rinfo);
extern TupleTableSlot *shardExecForeignUpdate(EState *estate,
											  ResultRelInfo *rinfo,
											  TupleTableSlot *slot,
											  TupleTableSlot *planSlot);
extern TupleTableSlot *shardExecForeignDelete(EState *estate,
											  ResultRelInfo *rinfo,
											  TupleTableSlot *slot,
											  TupleTableSlot *planSlot);
extern void shardEndForeignModify(EState *estate, ResultRelInfo *rinfo);

/* To be called when the plan is about to run for the first time, or again. */
extern void exec_modify_start_run(EState *estate);
extern void shardBeginForeignInsert(ModifyTableState *mtstate,
									ResultRelInfo *rinfo);
extern void shardEndForeignInsert(EState *estate, ResultRelInfo *rinfo);
extern void shardExecForeignTruncate(List *rels, DropBehavior behavior,
									 bool restart_seqs);

/* fdw_explain.c */
extern void shardExplainForeignScan(ForeignScanState *node,
									struct ExplainState *es);
extern void shardExplainForeignModify(ModifyTableState *mtstate,
									  ResultRelInfo *rinfo, List *fdw_private,
									  int subplan_index,
									  struct ExplainState *es);
extern void shardExplainDirectModify(ForeignScanState *node,
									 struct ExplainState *es);

/* fdw_analyze.c */
extern bool shardImportForeignStatistics(Relation relation, List *va_cols,
										 int elevel);
extern bool shardAnalyzeForeignTable(Relation relation,
									 AcquireSampleRowsFunc *func,
									 BlockNumber *totalpages);

/* fdw_import.c */
extern List *shardImportForeignSchema(ImportForeignSchemaStmt *stmt,
									  Oid serverOid);

#endif							/* SHARD_FDW_FDW_FDW_HANDLER_H */
