/*-------------------------------------------------------------------------
 *
 * copy_format.c
 *	  Rows as COPY FROM STDIN takes them, binary or text.
 *
 * The send functions of text-like types convert to the encoding of the user's
 * client, but the shard's session has that of this database: such values are
 * taken as they are.  Other types whose send functions convert are sent in
 * binary only while the user's client has the encoding of the database.
 *
 * The most frequent types of fixed size are written without their functions.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/uuid.h"

#include "base/compat.h"
#include "fdw/copy_format.h"

typedef enum ColumnWay
{
	COLUMN_NONE,				/* not in binary */
	COLUMN_BYTE,				/* one byte */
	COLUMN_INT16,
	COLUMN_INT32,
	COLUMN_INT64,
	COLUMN_FLOAT8,
	COLUMN_UUID,
	COLUMN_TEXT,				/* the bytes of a varlena */
	COLUMN_NAME,
	COLUMN_JSONB,
	COLUMN_SEND,				/* by its send function */
	COLUMN_SEND_TEXT			/* the same, converting to the client's
								 * encoding */
} ColumnWay;

typedef struct CopyColumn
{
	AttrNumber	attnum;
	ColumnWay	way;
	FmgrInfo	send;
} CopyColumn;

struct CopyFormat
{
	bool		is_binary;
	int			ncolumns;
	CopyColumn *columns;
	ParamWriter *params;
	Datum	   *values;			/* for params */
	bool	   *nulls;
};

/*
 * Types of users, those that name objects by oid, and those whose form depends
 * on settings are left out.
 */
static ColumnWay
way_of_type(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
			return COLUMN_BYTE;
		case INT2OID:
			return COLUMN_INT16;
		case INT4OID:
		case DATEOID:
			return COLUMN_INT32;
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return COLUMN_INT64;
		case FLOAT8OID:
			return COLUMN_FLOAT8;
		case UUIDOID:
			return COLUMN_UUID;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case JSONOID:
		case BYTEAOID:
			return COLUMN_TEXT;
		case NAMEOID:
			return COLUMN_NAME;
		case JSONBOID:
			return COLUMN_JSONB;
		case FLOAT4OID:
		case NUMERICOID:
		case TIMETZOID:
		case INTERVALOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
		case BITOID:
		case VARBITOID:
		case POINTOID:
		case LSEGOID:
		case PATHOID:
		case BOXOID:
		case POLYGONOID:
		case LINEOID:
		case CIRCLEOID:
		case BOOLARRAYOID:
		case INT2ARRAYOID:
		case INT4ARRAYOID:
		case INT8ARRAYOID:
		case FLOAT4ARRAYOID:
		case FLOAT8ARRAYOID:
		case NUMERICARRAYOID:
		case UUIDARRAYOID:
		case BYTEAARRAYOID:
		case DATEARRAYOID:
		case TIMESTAMPARRAYOID:
		case TIMESTAMPTZARRAYOID:
		case INT4RANGEOID:
		case INT8RANGEOID:
		case NUMRANGEOID:
		case DATERANGEOID:
		case TSRANGEOID:
		case TSTZRANGEOID:
			return COLUMN_SEND;
		case TEXTARRAYOID:
		case VARCHARARRAYOID:
		case JSONBARRAYOID:
		case TSVECTOROID:
			return COLUMN_SEND_TEXT;
		default:
			return COLUMN_NONE;
	}
}

static bool
init_column(CopyColumn *column, Oid type)
{
	Oid			send;
	bool		is_varlena;

	column->way = way_of_type(type);
	if (column->way == COLUMN_NONE ||
		(column->way == COLUMN_SEND_TEXT &&
		 pg_get_client_encoding() != GetDatabaseEncoding()))
		return false;
	if (column->way == COLUMN_SEND || column->way == COLUMN_SEND_TEXT)
	{
		getTypeBinaryOutputInfo(type, &send, &is_varlena);
		fmgr_info(send, &column->send);
	}
	return true;
}

CopyFormat *
copy_format_create(Relation rel, List *attrs, ParamWriter *params)
{
	CopyFormat *format = palloc0(sizeof(CopyFormat));
	int			ncolumns = list_length(attrs);
	ListCell   *cell;

	format->is_binary = true;
	format->params = params;
	format->columns = palloc0(sizeof(CopyColumn) * Max(ncolumns, 1));
	format->values = palloc(sizeof(Datum) * Max(ncolumns, 1));
	format->nulls = palloc(sizeof(bool) * Max(ncolumns, 1));
	foreach(cell, attrs)
	{
		CopyColumn *column = &format->columns[format->ncolumns++];

		column->attnum = lfirst_int(cell);
		if (!init_column(column, TupleDescAttr(RelationGetDescr(rel),
											   column->attnum - 1)->atttypid))
			format->is_binary = false;
	}
	return format;
}

bool
copy_format_is_binary(const CopyFormat *format)
{
	return format->is_binary;
}

void
copy_format_append_header(const CopyFormat *format, StringInfo buf)
{
	/* signature, flags, length of an extension that there is not */
	static const char header[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";

	if (format->is_binary)
		appendBinaryStringInfo(buf, header, 19);
}

void
copy_format_append_trailer(const CopyFormat *format, StringInfo buf)
{
	if (format->is_binary)
		pq_sendint16(buf, (uint16) -1);
}

/* ---- binary ---- */

static void
append_bytes(StringInfo buf, const char *data, int length)
{
	pq_sendint32(buf, length);
	appendBinaryStringInfo(buf, data, length);
}

static void
append_jsonb(StringInfo buf, Datum value)
{
	Jsonb	   *jb = DatumGetJsonbP(value);
	char	   *text = JsonbToCString(NULL, &jb->root, VARSIZE(jb));
	int			length = strlen(text);

	pq_sendint32(buf, length + 1);
	pq_sendint8(buf, 1);		/* version of the format */
	appendBinaryStringInfo(buf, text, length);
}

static void
append_text(StringInfo buf, Datum value)
{
	struct varlena *text = PG_DETOAST_DATUM_PACKED(value);

	append_bytes(buf, VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
}

static void
append_sent(StringInfo buf, FmgrInfo *send, Datum value)
{
	bytea	   *sent = SendFunctionCall(send, value);

	append_bytes(buf, VARDATA(sent), VARSIZE(sent) - VARHDRSZ);
}

static void
append_binary(StringInfo buf, CopyColumn *column, Datum value)
{
	switch (column->way)
	{
		case COLUMN_BYTE:
			pq_sendint32(buf, 1);
			pq_sendint8(buf, DatumGetUInt8(value));
			break;
		case COLUMN_INT16:
			pq_sendint32(buf, 2);
			pq_sendint16(buf, DatumGetInt16(value));
			break;
		case COLUMN_INT32:
			pq_sendint32(buf, 4);
			pq_sendint32(buf, DatumGetInt32(value));
			break;
		case COLUMN_INT64:
			pq_sendint32(buf, 8);
			pq_sendint64(buf, DatumGetInt64(value));
			break;
		case COLUMN_FLOAT8:
			pq_sendint32(buf, 8);
			pq_sendfloat8(buf, DatumGetFloat8(value));
			break;
		case COLUMN_UUID:
			append_bytes(buf, (char *) DatumGetUUIDP(value)->data, UUID_LEN);
			break;
		case COLUMN_TEXT:
			append_text(buf, value);
			break;
		case COLUMN_NAME:
			append_bytes(buf, NameStr(*DatumGetName(value)),
						 strlen(NameStr(*DatumGetName(value))));
			break;
		case COLUMN_JSONB:
			append_jsonb(buf, value);
			break;
		case COLUMN_SEND:
		case COLUMN_SEND_TEXT:
			append_sent(buf, &column->send, value);
			break;
		case COLUMN_NONE:
			elog(ERROR, "unexpected column in a binary COPY");
	}
}

static void
append_binary_row(CopyFormat *format, StringInfo buf, TupleTableSlot *slot)
{
	int			col;

	slot_getallattrs(slot);
	pq_sendint16(buf, format->ncolumns);
	for (col = 0; col < format->ncolumns; col++)
	{
		CopyColumn *column = &format->columns[col];

		if (slot->tts_isnull[column->attnum - 1])
			pq_sendint32(buf, (uint32) -1);
		else
			append_binary(buf, column, slot->tts_values[column->attnum - 1]);
	}
}

/* ---- text ---- */

/*
 * Every byte with the high bit belongs to a character of a server encoding,
 * so special characters are found byte by byte.
 */
static void
append_escaped(StringInfo buf, const char *text)
{
	const char *start = text;

	for (; *text; text ++)
	{
		char		special;

		switch (*text)
		{
			case '\\':
				special = '\\';
				break;
			case '\n':
				special = 'n';
				break;
			case '\r':
				special = 'r';
				break;
			case '\t':
				special = 't';
				break;
			default:
				continue;
		}
		appendBinaryStringInfo(buf, start, text -start);
		appendStringInfoChar(buf, '\\');
		appendStringInfoChar(buf, special);
		start = text +1;
	}
	appendBinaryStringInfo(buf, start, text -start);
}

static void
append_text_row(CopyFormat *format, StringInfo buf, TupleTableSlot *slot)
{
	const char *const *texts;
	int			col;

	slot_getallattrs(slot);
	for (col = 0; col < format->ncolumns; col++)
	{
		AttrNumber	attnum = format->columns[col].attnum;

		format->values[col] = slot->tts_values[attnum - 1];
		format->nulls[col] = slot->tts_isnull[attnum - 1];
	}
	texts = param_writer_print(format->params, format->values, format->nulls);
	for (col = 0; col < format->ncolumns; col++)
	{
		if (col > 0)
			appendStringInfoChar(buf, '\t');
		if (texts[col] == NULL)
			appendStringInfoString(buf, "\\N");
		else
			append_escaped(buf, texts[col]);
	}
	appendStringInfoChar(buf, '\n');
}

void
copy_format_append_row(CopyFormat *format, StringInfo buf,
					   TupleTableSlot *slot)
{
	if (format->is_binary)
		append_binary_row(format, buf, slot);
	else
		append_text_row(format, buf, slot);
}
