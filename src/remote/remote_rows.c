/*-------------------------------------------------------------------------
 *
 * remote_rows.c
 *	  Rows of a stream that have arrived and have not been taken.
 *
 * A stream is read by whoever waits on its connection, so its rows may come
 * before their owner asks for them.  They are held as they are up to
 * work_mem; what comes after that goes to a temporary file, in order, until
 * the file has been read empty.  Most streams never hold more than one row
 * batch here.
 *
 * The file is not tied to a resource owner: a request outlives the portal or
 * subtransaction it was made in, and remote_rows_clear() always runs.
 *
 * In the file a row is its number of columns and for each the length (-1 for
 * NULL) and the bytes.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/catch_point.h"
#include "base/compat.h"
#include "remote/remote_internal.h"

static void
spool_row(RemoteRows *rows, const RemoteResult *result, int row)
{
	int			nfields = remote_result_nfields(result);
	int			col;

	compat_buffile_write(rows->spool, &nfields, sizeof(nfields));
	for (col = 0; col < nfields; col++)
	{
		int			length;
		char	   *value = remote_result_field(result, row, col, &length);

		if (value == NULL)
			length = -1;
		compat_buffile_write(rows->spool, &length, sizeof(length));
		if (length > 0)
			compat_buffile_write(rows->spool, value, length);
	}
	rows->spooled++;
	rows->total_spooled++;
}

void
remote_rows_set_types(RemoteRequest *request, const PGresult *pgres)
{
	int			nfields = PQnfields(pgres);
	int			col;

	request->rows.types = MemoryContextAlloc(request->context,
											 sizeof(Oid) * Max(nfields, 1));
	for (col = 0; col < nfields; col++)
		request->rows.types[col] = PQftype(pgres, col);
}

/*
 * The result of a row that was copied, to look at for a moment.
 */
static void
describe_copied(const RemoteRequest *request, char *copied,
				RemoteResult *result)
{
	int			nfields = Max(request->copy_out.nfields, 1);

	remote_copy_out_parse(request, copied, result,
						  palloc(sizeof(char *) * nfields),
						  palloc(sizeof(int) * nfields));
}

static void
spool_held(RemoteRequest *request, const RemoteHeldRow *held)
{
	RemoteRows *rows = &request->rows;
	MemoryContext old_context = MemoryContextSwitchTo(request->context);
	RemoteResult result = {.pgres = held->pgres};
	int			row;

	if (held->copied)
		describe_copied(request, held->copied, &result);
	else if (rows->types == NULL)
		remote_rows_set_types(request, held->pgres);
	if (rows->spool == NULL)
		rows->spool = BufFileCreateTemp(true);
	if (rows->spooled == 0)
		rows->read_file = rows->write_file = rows->read_offset =
			rows->write_offset = 0;
	if (BufFileSeek(rows->spool, rows->write_file, rows->write_offset,
					SEEK_SET) != 0)
		ereport(ERROR,
				errcode_for_file_access(),
				errmsg("could not seek in temporary file of remote rows: %m"));
	for (row = 0; row < remote_result_nrows(&result); row++)
		spool_row(rows, &result, row);
	BufFileTell(rows->spool, &rows->write_file, &rows->write_offset);
	if (held->copied)
	{
		pfree(result.values);
		pfree(result.lengths);
	}
	MemoryContextSwitchTo(old_context);
}

static Size
held_size(const RemoteHeldRow *held)
{
	return held->copied ? held->size : PQresultMemorySize(held->pgres);
}

static void
free_held(const RemoteHeldRow *held)
{
	PQclear(held->pgres);
	PQfreemem(held->copied);
}

static void
add_row(RemoteRequest *request, const RemoteHeldRow *held)
{
	RemoteRows *rows = &request->rows;
	Size		size = held_size(held);

	if (rows->spooled > 0 || rows->held_bytes + size > work_mem * (Size) 1024)
	{
		PG_TRY();
		{
			spool_held(request, held);
		}
		PG_CATCH();
		{
			/*
			 * Whoever waits gets this error, and may go on; the owner of the
			 * rows must not, with some of them missing.
			 */
			free_held(held);
			rows->spooled = 0;
			remote_conn_close_noerror(request->conn);
			PG_RE_THROW();
		}
		PG_END_TRY();
		free_held(held);
		return;
	}
	if (rows->held == NULL)
	{
		rows->max_held = 4;
		rows->held = MemoryContextAlloc(request->context,
										rows->max_held * sizeof(RemoteHeldRow));
	}
	else if (rows->nheld == rows->max_held)
	{
		rows->max_held *= 2;
		rows->held = repalloc_huge(rows->held,
								   rows->max_held * sizeof(RemoteHeldRow));
	}
	rows->held[rows->nheld++] = *held;
	rows->held_bytes += size;
}

/*
 * Takes over the PGresult.
 */
void
remote_rows_add(RemoteRequest *request, PGresult *pgres)
{
	RemoteHeldRow held = {.pgres = pgres};

	add_row(request, &held);
}

/*
 * Takes over the row, as libpq gave it.
 */
void
remote_rows_add_copied(RemoteRequest *request, char *copied, int size)
{
	RemoteHeldRow held = {.copied = copied,.size = size};

	add_row(request, &held);
}

bool
remote_rows_is_empty(const RemoteRequest *request)
{
	return request->rows.nheld == 0 && request->rows.spooled == 0;
}

static RemoteHeldRow
take_held(RemoteRows *rows)
{
	RemoteHeldRow held = rows->held[rows->next_held++];

	rows->held_bytes -= Min(rows->held_bytes, held_size(&held));
	if (rows->next_held == rows->nheld)
		rows->next_held = rows->nheld = 0;
	return held;
}

static void
read_exactly(RemoteRows *rows, void *buffer, Size size)
{
	if (compat_buffile_read(rows->spool, buffer, size) != size)
		ereport(ERROR,
				errcode_for_file_access(),
				errmsg("could not read temporary file of remote rows: %m"));
}

static void
take_spooled(RemoteRequest *request)
{
	RemoteRows *rows = &request->rows;
	RemoteResult *result = &request->taken;
	MemoryContext old_context;
	int			col;

	if (rows->row_context == NULL)
		rows->row_context = AllocSetContextCreate(request->context,
												  "shard_fdw spooled row",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(rows->row_context);
	old_context = MemoryContextSwitchTo(rows->row_context);
	if (BufFileSeek(rows->spool, rows->read_file, rows->read_offset,
					SEEK_SET) != 0)
		ereport(ERROR,
				errcode_for_file_access(),
				errmsg("could not seek in temporary file of remote rows: %m"));
	read_exactly(rows, &result->nfields, sizeof(result->nfields));
	result->types = rows->types;
	result->values = palloc0(sizeof(char *) * Max(result->nfields, 1));
	result->lengths = palloc0(sizeof(int) * Max(result->nfields, 1));
	for (col = 0; col < result->nfields; col++)
	{
		int			length;

		read_exactly(rows, &length, sizeof(length));
		if (length < 0)
			continue;
		result->lengths[col] = length;
		result->values[col] = palloc_extended(length + 1, MCXT_ALLOC_HUGE);
		if (length > 0)
			read_exactly(rows, result->values[col], length);
		result->values[col][length] = '\0';
	}
	BufFileTell(rows->spool, &rows->read_file, &rows->read_offset);
	rows->spooled--;
	MemoryContextSwitchTo(old_context);
}

/*
 * A row that libpq has just given, without its being held.
 */
void
remote_rows_take_copied(RemoteRequest *request, char *copied)
{
	request->taken.copied = copied;
	remote_copy_out_parse(request, copied, &request->taken,
						  request->copy_out.values, request->copy_out.lengths);
}

/*
 * The oldest rows, into request->taken; the caller has cleared that before
 * and knows that there are some.
 */
void
remote_rows_take(RemoteRequest *request)
{
	RemoteResult *taken = &request->taken;
	RemoteHeldRow held;

	if (request->rows.nheld == 0)
	{
		take_spooled(request);
		return;
	}
	held = take_held(&request->rows);
	taken->pgres = held.pgres;
	if (held.copied)
		remote_rows_take_copied(request, held.copied);
}

/*
 * What was taken last has been used.
 */
void
remote_rows_untake(RemoteRequest *request)
{
	RemoteResult *taken = &request->taken;

	PQclear(taken->pgres);
	PQfreemem(taken->copied);
	taken->pgres = NULL;
	taken->copied = NULL;
}

/*
 * Closing writes out what is buffered, of all things, and that can fail; this
 * runs where nothing may raise.
 */
static void
close_spool_noerror(BufFile *spool)
{
	CatchPoint	before = catch_point_here();

	PG_TRY();
	{
		BufFileClose(spool);
	}
	PG_CATCH();
	{
		catch_point_return(&before);
	}
	PG_END_TRY();
}

void
remote_rows_clear(RemoteRequest *request)
{
	RemoteRows *rows = &request->rows;
	BufFile    *spool = rows->spool;

	while (rows->nheld > 0)
	{
		RemoteHeldRow held = take_held(rows);

		free_held(&held);
	}
	rows->spool = NULL;
	rows->spooled = 0;
	if (spool)
		close_spool_noerror(spool);
}
