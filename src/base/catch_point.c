/*-------------------------------------------------------------------------
 *
 * catch_point.c
 *	  Ends an error where the transaction goes on.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/catch_point.h"

CatchPoint
catch_point_here(void)
{
	CatchPoint	here;

	here.context = CurrentMemoryContext;
	here.holdoff = InterruptHoldoffCount;
	here.cancel_holdoff = QueryCancelHoldoffCount;
	return here;
}

void
catch_point_return(const CatchPoint *before)
{
	MemoryContextSwitchTo(before->context);
	FlushErrorState();
	InterruptHoldoffCount = before->holdoff;
	QueryCancelHoldoffCount = before->cancel_holdoff;
}
