/*-------------------------------------------------------------------------
 *
 * catch_point.h
 *	  Ends an error where the transaction goes on.
 *
 * ereport(ERROR) leaves behind another memory context, the error itself and,
 * what is easily forgotten, counts of held interrupts that are zero: code
 * around the PG_TRY that had held them would be interrupted after all.  Where
 * PG_CATCH does not raise again all of that has to be put back.
 *
 *		CatchPoint	before = catch_point_here();
 *
 *		PG_TRY();
 *		...
 *		PG_CATCH();
 *		{
 *			catch_point_return(&before);
 *
 * Nothing here raises.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_BASE_CATCH_POINT_H
#define SHARD_FDW_BASE_CATCH_POINT_H

#include "utils/palloc.h"

typedef struct CatchPoint
{
	MemoryContext context;
	uint32		holdoff;		/* InterruptHoldoffCount */
	uint32		cancel_holdoff; /* QueryCancelHoldoffCount */
} CatchPoint;

/* To be called before PG_TRY(). */
extern CatchPoint catch_point_here(void);

/*
 * Restores what was then and drops the error.  Who wants to see it copies it
 * before, in before->context.
 */
extern void catch_point_return(const CatchPoint *before);

#endif							/* SHARD_FDW_BASE_CATCH_POINT_H */
