/*-------------------------------------------------------------------------
 *
 * binary_value.c
 *	  Values in the binary format of the protocol into Datums.
 *
 * The common types are decoded here, which for most of them is a change of
 * byte order.  A value that does not look right is handed to the receive
 * function of its type, which knows what to complain about.
 *
 * Left out, so that they travel as text: types of users and of extensions,
 * whose oids and binary forms are not known to be the same on the shard;
 * types whose values are oids of catalog entries (regclass); money, whose
 * value depends on a setting; arrays and others that hold texts inside, since
 * their receive functions convert them.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "base/compat.h"
#include "fdw/binary_value.h"

/* how the bytes become a Datum */
typedef enum BinaryKind
{
	BINARY_NONE,				/* not at all */
	BINARY_BOOL,
	BINARY_INT2,
	BINARY_INT4,
	BINARY_INT8,
	BINARY_FLOAT4,
	BINARY_FLOAT8,
	BINARY_DATE,
	BINARY_TIMESTAMP,
	BINARY_UUID,
	BINARY_BYTES,				/* a varlena of the same bytes */
	BINARY_TEXT,				/* what the input function reads */
	BINARY_JSONB,				/* the same behind a version byte */
	BINARY_RECEIVE,				/* by the receive function */
	BINARY_CONVERT				/* of another type: printed, then read */
} BinaryKind;

struct BinaryInput
{
	Oid			type;			/* no domain */
	int32		typmod;
	BinaryKind	kind;
	FmgrInfo	receive;		/* both are looked up when needed */
	Oid			receive_param;
	FmgrInfo	input;
	Oid			input_param;

	/* where the remote type is another one */
	FmgrInfo	remote_receive;
	Oid			remote_param;
	FmgrInfo	remote_output;

	/* of a domain */
	Oid			domain;			/* InvalidOid if it is none */
	void	   *domain_cache;
	MemoryContext context;
};

/* The way of a type without typmod, for a remote column of the same type. */
static BinaryKind
kind_of_type(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return BINARY_BOOL;
		case INT2OID:
			return BINARY_INT2;
		case INT4OID:
		case OIDOID:
			return BINARY_INT4;
		case INT8OID:
			return BINARY_INT8;
		case FLOAT4OID:
			return BINARY_FLOAT4;
		case FLOAT8OID:
			return BINARY_FLOAT8;
		case DATEOID:
			return BINARY_DATE;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return BINARY_TIMESTAMP;
		case UUIDOID:
			return BINARY_UUID;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case JSONOID:
		case BYTEAOID:
			return BINARY_BYTES;
		case NAMEOID:
			return BINARY_TEXT;
		case JSONBOID:
			return BINARY_JSONB;
		case CHAROID:
		case NUMERICOID:
		case TIMEOID:
		case TIMETZOID:
		case INTERVALOID:
		case BITOID:
		case VARBITOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
		case POINTOID:
		case LSEGOID:
		case BOXOID:
		case PATHOID:
		case POLYGONOID:
		case LINEOID:
		case CIRCLEOID:
		case TIDOID:
		case XIDOID:
		case CIDOID:
		case XID8OID:
		case PG_LSNOID:
		case INT4RANGEOID:
		case INT8RANGEOID:
		case NUMRANGEOID:
		case DATERANGEOID:
		case TSRANGEOID:
		case TSTZRANGEOID:
		case BOOLARRAYOID:
		case INT2ARRAYOID:
		case INT4ARRAYOID:
		case INT8ARRAYOID:
		case OIDARRAYOID:
		case FLOAT4ARRAYOID:
		case FLOAT8ARRAYOID:
		case NUMERICARRAYOID:
		case DATEARRAYOID:
		case TIMEARRAYOID:
		case TIMESTAMPARRAYOID:
		case TIMESTAMPTZARRAYOID:
		case INTERVALARRAYOID:
		case UUIDARRAYOID:
		case BYTEAARRAYOID:
			return BINARY_RECEIVE;
		default:
			return BINARY_NONE;
	}
}

/* Is the binary form of the type its text? */
static bool
is_text_like(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID ||
		type == NAMEOID || type == JSONOID || type == UNKNOWNOID;
}

/* Types whose text does not depend on settings, which differ on the shard. */
static bool
is_convertible(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case TIDOID:
		case NUMERICOID:
		case UUIDOID:
			return true;
		default:
			return false;
	}
}

/*
 * A length or precision to be kept is a matter for the type's functions.
 */
static BinaryKind
choose_kind(Oid type, int32 typmod)
{
	BinaryKind	kind = kind_of_type(type);

	if (typmod < 0 || kind == BINARY_NONE)
		return kind;
	return is_text_like(type) ? BINARY_TEXT : BINARY_RECEIVE;
}

BinaryInput *
binary_input_create(Oid type, int32 typmod)
{
	Oid			base = type;
	BinaryKind	kind;
	BinaryInput *input;

	if (kind_of_type(type) == BINARY_NONE)
		base = getBaseTypeAndTypmod(type, &typmod);
	kind = choose_kind(base, typmod);
	if (kind == BINARY_NONE)
		return NULL;
	input = palloc0(sizeof(BinaryInput));
	input->type = base;
	input->typmod = typmod;
	input->kind = kind;
	input->domain = base == type ? InvalidOid : type;
	input->context = CurrentMemoryContext;
	return input;
}

bool
binary_input_accept(BinaryInput *input, Oid remote_type)
{
	Oid			function;
	bool		is_varlena;

	if (remote_type == input->type)
		input->kind = choose_kind(input->type, input->typmod);
	else if (is_text_like(remote_type))
		input->kind = BINARY_TEXT;
	else if (is_convertible(remote_type))
	{
		input->kind = BINARY_CONVERT;
		getTypeBinaryInputInfo(remote_type, &function, &input->remote_param);
		fmgr_info_cxt(function, &input->remote_receive, input->context);
		getTypeOutputInfo(remote_type, &function, &is_varlena);
		fmgr_info_cxt(function, &input->remote_output, input->context);
	}
	else
		return false;
	return true;
}

static Datum
call_input(BinaryInput *input, char *text)
{
	if (!OidIsValid(input->input.fn_oid))
	{
		Oid			function;

		getTypeInputInfo(input->type, &function, &input->input_param);
		fmgr_info_cxt(function, &input->input, input->context);
	}
	return InputFunctionCall(&input->input, text, input->input_param,
							 input->typmod);
}

static Datum
run_receive(FmgrInfo *receive, Oid param, int32 typmod, char *value,
			int length)
{
	StringInfoData buf;
	Datum		datum;

	buf.data = value;
	buf.len = buf.maxlen = length;
	buf.cursor = 0;
	datum = ReceiveFunctionCall(receive, &buf, param, typmod);
	if (buf.cursor != length)
		ereport(ERROR,
				errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				errmsg("incorrect binary data format in a remote row"));
	return datum;
}

static Datum
call_receive(BinaryInput *input, char *value, int length)
{
	if (!OidIsValid(input->receive.fn_oid))
	{
		Oid			function;

		getTypeBinaryInputInfo(input->type, &function, &input->receive_param);
		fmgr_info_cxt(function, &input->receive, input->context);
	}
	return run_receive(&input->receive, input->receive_param, input->typmod,
					   value, length);
}

static Datum
convert(BinaryInput *input, char *value, int length)
{
	Datum		datum = run_receive(&input->remote_receive,
									input->remote_param, -1, value, length);

	return call_input(input, OutputFunctionCall(&input->remote_output, datum));
}

static uint16
get_int2(const char *value)
{
	uint16		bytes;

	memcpy(&bytes, value, sizeof(bytes));
	return pg_ntoh16(bytes);
}

static uint32
get_int4(const char *value)
{
	uint32		bytes;

	memcpy(&bytes, value, sizeof(bytes));
	return pg_ntoh32(bytes);
}

static uint64
get_int8(const char *value)
{
	uint64		bytes;

	memcpy(&bytes, value, sizeof(bytes));
	return pg_ntoh64(bytes);
}

static float4
get_float4(const char *value)
{
	uint32		bytes = get_int4(value);
	float4		result;

	memcpy(&result, &bytes, sizeof(result));
	return result;
}

static float8
get_float8(const char *value)
{
	uint64		bytes = get_int8(value);
	float8		result;

	memcpy(&result, &bytes, sizeof(result));
	return result;
}

static Datum
make_varlena(const char *value, int length)
{
	bytea	   *result = palloc(length + VARHDRSZ);

	SET_VARSIZE(result, length + VARHDRSZ);
	memcpy(VARDATA(result), value, length);
	return PointerGetDatum(result);
}

static Datum
read_value(BinaryInput *input, char *value, int length)
{
	switch (input->kind)
	{
		case BINARY_BOOL:
			if (length == 1)
				return BoolGetDatum(value[0] != 0);
			break;
		case BINARY_INT2:
			if (length == 2)
				return Int16GetDatum((int16) get_int2(value));
			break;
		case BINARY_INT4:
			if (length == 4)
				return Int32GetDatum((int32) get_int4(value));
			break;
		case BINARY_INT8:
			if (length == 8)
				return Int64GetDatum((int64) get_int8(value));
			break;
		case BINARY_FLOAT4:
			if (length == 4)
				return Float4GetDatum(get_float4(value));
			break;
		case BINARY_FLOAT8:
			if (length == 8)
				return Float8GetDatum(get_float8(value));
			break;
		case BINARY_DATE:
			if (length == 4 && IS_VALID_DATE((DateADT) get_int4(value)))
				return DateADTGetDatum((DateADT) get_int4(value));
			break;
		case BINARY_TIMESTAMP:
			if (length == 8 && IS_VALID_TIMESTAMP((Timestamp) get_int8(value)))
				return TimestampGetDatum((Timestamp) get_int8(value));
			break;
		case BINARY_UUID:
			if (length == UUID_LEN)
				return PointerGetDatum(memcpy(palloc(UUID_LEN), value, UUID_LEN));
			break;
		case BINARY_BYTES:
			return make_varlena(value, length);
		case BINARY_TEXT:
			return call_input(input, value);
		case BINARY_JSONB:
			if (length > 1 && value[0] == 1)
				return call_input(input, value + 1);
			break;
		case BINARY_CONVERT:
			return convert(input, value, length);
		case BINARY_RECEIVE:
		case BINARY_NONE:
			break;
	}
	return call_receive(input, value, length);
}

Datum
binary_input_read(BinaryInput *input, char *value, int length)
{
	Datum		datum = value ? read_value(input, value, length) : (Datum) 0;

	if (OidIsValid(input->domain))
		domain_check(datum, value == NULL, input->domain, &input->domain_cache,
					 input->context);
	return datum;
}
