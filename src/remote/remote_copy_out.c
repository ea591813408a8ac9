/*-------------------------------------------------------------------------
 *
 * remote_copy_out.c
 *	  COPY TO STDOUT: the fast way for a stream of very many rows.
 *
 * libpq makes a result of its own for each row that is handed out when it
 * comes, which is a quarter of the work of a large scan.  A row that is copied
 * is one piece of memory.
 *
 * The binary form of a row does not tell the types of its values.  So the
 * message that asks for the rows begins with the same query for no rows: its
 * answer describes them.  The statements of one message run in one
 * transaction, so no column can change its type between the two.
 *
 * Nothing here waits or raises.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bswap.h"

#include "remote/remote_internal.h"

static const char signature[] = "PGCOPY\n\377\r\n";

/* signature with its zero byte, flags, length of the header's extension */
#define HEADER_SIZE (sizeof(signature) + 2 * sizeof(int32))

/*
 * Is there nothing before it in the FIFO but what begins the session, and the
 * end of a segment whose answers have come?
 */
static bool
is_first_of_owners(const RemoteConn *conn, const RemoteRequest *request)
{
	dlist_node *node;

	for (node = conn->fifo.head.next; node != &request->node; node = node->next)
	{
		const RemoteRequest *before = dlist_container(RemoteRequest, node, node);

		if (!before->is_setup && before->kind != REMOTE_KIND_SYNC)
			return false;
	}
	return true;
}

/*
 * Only a request that is alone on the connection: nothing may be outstanding
 * while libpq leaves the pipeline, and what is queued behind, such as the
 * question whether it has written, would be sent later than it could be.
 */
bool
remote_copy_out_suits(const RemoteConn *conn, const RemoteRequest *request)
{
	dlist_node *next = request->node.next;
	const RemoteRequest *sync;

	if (!request->query.is_bulk || !request->query.is_stream ||
		!request->query.binary_result || request->query.nparams > 0 ||
		conn->is_segment_open || next == &conn->fifo.head ||
		!is_first_of_owners(conn, request))
		return false;
	sync = dlist_container(RemoteRequest, node, next);
	return sync->kind == REMOTE_KIND_SYNC && next->next == &conn->fifo.head;
}

bool
remote_copy_out_start(RemoteConn *conn, RemoteRequest *request)
{
	const char *sql = request->query.sql;
	char	   *both = psprintf("SELECT * FROM (%s) AS r LIMIT 0; COPY (%s) TO STDOUT (FORMAT binary)",
								sql, sql);
	bool		is_sent = PQexitPipelineMode(conn->pg) == 1 &&
	PQsendQuery(conn->pg, both) == 1;

	pfree(both);
	memset(&request->copy_out, 0, sizeof(RemoteCopyOut));
	request->copy_out.is_used = true;
	return is_sent;
}

void
remote_copy_out_open(RemoteRequest *request)
{
	RemoteCopyOut *out = &request->copy_out;

	out->is_open = true;
	if (request->result == NULL)
		return;					/* nobody wants the rows */
	remote_rows_set_types(request, request->result->pgres);
	out->nfields = PQnfields(request->result->pgres);
	out->values = MemoryContextAlloc(request->context,
									 sizeof(char *) * Max(out->nfields, 1));
	out->lengths = MemoryContextAlloc(request->context,
									  sizeof(int) * Max(out->nfields, 1));
}

static int16
read_int16(const char *from)
{
	uint16		value;

	memcpy(&value, from, sizeof(value));
	return (int16) pg_ntoh16(value);
}

static int32
read_int32(const char *from)
{
	uint32		value;

	memcpy(&value, from, sizeof(value));
	return (int32) pg_ntoh32(value);
}

/*
 * Takes away what goes before the first row; false when it is something else.
 */
static bool
skip_header(char *copied, int *size)
{
	int32		extension;

	if (*size < (int) HEADER_SIZE ||
		memcmp(copied, signature, sizeof(signature)) != 0)
		return false;
	extension = read_int32(copied + HEADER_SIZE - sizeof(int32));
	if (extension < 0 || extension > *size - (int) HEADER_SIZE)
		return false;
	*size -= HEADER_SIZE + extension;
	memmove(copied, copied + HEADER_SIZE + extension, *size + 1);
	return true;
}

/*
 * Is it one whole row, of as many fields as were described?
 */
static bool
is_row(const RemoteCopyOut *out, const char *copied, int size)
{
	int			position = sizeof(int16);
	int			field;

	if (read_int16(copied) != out->nfields)
		return false;
	for (field = 0; field < out->nfields; field++)
	{
		int32		length;

		if (size - position < (int) sizeof(int32))
			return false;
		length = read_int32(copied + position);
		position += sizeof(int32);
		if (length < -1 || length > size - position)
			return false;
		position += Max(length, 0);
	}
	return position == size;
}

/* What libpq has handed out: a row, or what goes before and after the rows. */
static RemoteCopyOutStep
classify(RemoteRequest *request, char *copied, int *size)
{
	RemoteCopyOut *out = &request->copy_out;

	if (!out->has_begun && !skip_header(copied, size))
		return REMOTE_COPY_OUT_FAILED;
	out->has_begun = true;
	if (*size == 0 ||
		(*size == sizeof(int16) && read_int16(copied) == -1))
		return REMOTE_COPY_OUT_NOTHING;
	if (out->values == NULL)
		return REMOTE_COPY_OUT_ROW;
	return *size >= (int) sizeof(int16) && is_row(out, copied, *size) ?
		REMOTE_COPY_OUT_ROW : REMOTE_COPY_OUT_FAILED;
}

RemoteCopyOutStep
remote_copy_out_read(RemoteRequest *request, char **copied, int *size)
{
	for (;;)
	{
		RemoteCopyOutStep step;

		*size = PQgetCopyData(request->conn->pg, copied, 1);
		if (*size == 0)
			return REMOTE_COPY_OUT_NOTHING;
		if (*size < -1)
			return REMOTE_COPY_OUT_FAILED;
		if (*size < 0)
		{
			/* the reason, if there is one, comes as the next result */
			request->copy_out.is_open = false;
			return REMOTE_COPY_OUT_END;
		}
		step = classify(request, *copied, size);
		if (step == REMOTE_COPY_OUT_ROW)
		{
			remote_request_count_rows(request, 1, *size - sizeof(int16) -
									  request->copy_out.nfields * sizeof(int32));
			return step;
		}
		PQfreemem(*copied);
		if (step == REMOTE_COPY_OUT_FAILED)
			return step;
	}
}

/*
 * Can be done once: each value gets its zero byte, in the place of the length of the next one,
 * which has been read by then; libpq has put one behind the last.
 */
void
remote_copy_out_parse(const RemoteRequest *request, char *copied,
					  RemoteResult *result, char **values, int *lengths)
{
	char	   *position = copied + sizeof(int16);
	int			field;

	for (field = 0; field < request->copy_out.nfields; field++)
	{
		int32		length = read_int32(position);

		*position = '\0';
		position += sizeof(int32);
		values[field] = length < 0 ? NULL : position;
		lengths[field] = Max(length, 0);
		position += Max(length, 0);
	}
	result->nfields = request->copy_out.nfields;
	result->types = request->rows.types;
	result->values = values;
	result->lengths = lengths;
}
