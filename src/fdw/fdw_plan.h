/*-------------------------------------------------------------------------
 *
 * fdw_plan.h
 *	  What the planner side hands to the executor side: the layout of the
 *	  private lists in plan nodes.
 *
 * Plans are copied and may be kept, so everything is made of nodes.  The
 * planner modules write these lists, the exec modules read them, EXPLAIN
 * shows them; nobody else looks inside.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_FDW_PLAN_H
#define SHARD_FDW_FDW_FDW_PLAN_H

/*
 * Row identity.  A remote row is named by (ctid, tableoid), since the remote
 * table may be partitioned.  Core lets a scan carry system columns only, so
 * the remote tableoid travels in the place of xmin, which a foreign row does
 * not have: the junk Vars are ctid and xmin, and scans that retrieve
 * MinTransactionIdAttributeNumber put the remote tableoid there if the table
 * is one that the statement changes.
 */
#define SHARD_ROW_CTID_ATTNO	SelfItemPointerAttributeNumber
#define SHARD_ROW_TABLEOID_ATTNO MinTransactionIdAttributeNumber
#define SHARD_ROW_CTID_NAME		"shard_ctid"
#define SHARD_ROW_TABLEOID_NAME	"shard_tableoid"

/*
 * ForeignScan.fdw_private of a scan.  fdw_exprs has the parameters first, then
 * conditions, see plan_prune.h.
 */
enum ScanPrivate
{
	SCAN_PRIVATE_SQL,			/* String: the SELECT, parameters $1... are
								 * fdw_exprs in order */
	SCAN_PRIVATE_RETRIEVED_ATTRS,	/* integer List: for each column of the
									 * remote result the attno it fills; the
									 * two row identity attnos included */
	SCAN_PRIVATE_FLAGS,			/* Integer: bits of ScanFlags */
	SCAN_PRIVATE_FETCH_SIZE,	/* Integer: rows per FETCH */
	SCAN_PRIVATE_RELATIONS,		/* String for EXPLAIN "Relations", or "" */
	SCAN_PRIVATE_NPARAMS,		/* Integer: how many of fdw_exprs are
								 * parameters */
	SCAN_PRIVATE_REFUSED,		/* List of Strings, see plan_refusal.h */
	SCAN_PRIVATE_LENGTH
};

enum ScanFlags
{
	SCAN_FLAG_LOCKS_ROWS = 1,	/* FOR UPDATE and the like: needs the branch */
	SCAN_FLAG_MAY_STOP_EARLY = 2,	/* planned for a part of the rows: use a
									 * cursor */
	SCAN_FLAG_ASYNC_CAPABLE = 4
};

/* ForeignScan.fdw_private of a direct UPDATE or DELETE */
enum DirectPrivate
{
	DIRECT_PRIVATE_SQL,			/* String */
	DIRECT_PRIVATE_HAS_RETURNING,	/* Boolean (Integer 0/1) */
	DIRECT_PRIVATE_RETRIEVED_ATTRS, /* integer List, as above */
	DIRECT_PRIVATE_SET_PROCESSED,	/* Integer 0/1: count rows in es_processed */
	DIRECT_PRIVATE_LENGTH
};

/* What PlanForeignModify returns */
enum ModifyPrivate
{
	MODIFY_PRIVATE_SQL,			/* String: one row's statement. INSERT: $n are
								 * the target attrs in order.  UPDATE: the
								 * target attrs, then ctid, then tableoid.
								 * DELETE: ctid, then tableoid */
	MODIFY_PRIVATE_TARGET_ATTRS,	/* integer List: attnos sent; generated
									 * columns are not among them */
	MODIFY_PRIVATE_HAS_RETURNING,	/* Integer 0/1 */
	MODIFY_PRIVATE_RETRIEVED_ATTRS, /* integer List: columns of RETURNING */
	MODIFY_PRIVATE_MAY_MOVE,	/* Integer 0/1: UPDATE may give a row the key
								 * of another partition */
	MODIFY_PRIVATE_LENGTH
};

#endif							/* SHARD_FDW_FDW_FDW_PLAN_H */
