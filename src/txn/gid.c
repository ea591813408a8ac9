/*-------------------------------------------------------------------------
 *
 * gid.c
 *	  Building and taking apart the names of prepared transactions.
 *
 * Numbers are written and read here and not by printf() and strtoul(), which
 * accept more than they write: signs, blanks, leading zeros, either case.  A
 * name that another program made to resemble ours must not pass.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "txn/gid.h"

#define GID_TAG "sfdw1"
#define ONE_PHASE_TAG "sfdw1p"
#define HEX_DIGITS 16
#define MAX_DECIMAL_DIGITS 20	/* of a uint64 */

/* ---- writing: each returns where the next field goes ---- */

static char *
put_text(char *out, const char *input)
{
	while (*input != '\0')
		*out++ = *input++;
	return out;
}

static char *
put_hex(char *out, uint64 value)
{
	int			digit;

	*out++ = '_';
	for (digit = HEX_DIGITS - 1; digit >= 0; digit--)
		*out++ = "0123456789abcdef"[(value >> (digit * 4)) & 0xf];
	return out;
}

static char *
put_decimal(char *out, uint64 value)
{
	char		digits[MAX_DECIMAL_DIGITS];
	int			ndigits = 0;

	*out++ = '_';
	do
	{
		digits[ndigits++] = '0' + (char) (value % 10);
		value /= 10;
	} while (value != 0);
	while (ndigits > 0)
		*out++ = digits[--ndigits];
	return out;
}

/*
 * ---- reading: each takes one field off *in and returns whether it was
 * exactly what the writer would have produced ----
 */

static bool
take_text(const char **in, const char *input)
{
	while (*input != '\0')
	{
		if (**in != *input)
			return false;
		(*in)++;
		input++;
	}
	return true;
}

static bool
take_hex(const char **in, uint64 *value)
{
	int			digit;

	if (!take_text(in, "_"))
		return false;
	*value = 0;
	for (digit = 0; digit < HEX_DIGITS; digit++)
	{
		char		c = **in;

		if (c >= '0' && c <= '9')
			*value = (*value << 4) | (uint64) (c - '0');
		else if (c >= 'a' && c <= 'f')
			*value = (*value << 4) | (uint64) (c - 'a' + 10);
		else
			return false;
		(*in)++;
	}
	return true;
}

static bool
take_decimal(const char **in, uint64 max, uint64 *value)
{
	const char *start;

	if (!take_text(in, "_"))
		return false;
	start = *in;
	*value = 0;
	while (**in >= '0' && **in <= '9')
	{
		uint64		digit = (uint64) (**in - '0');

		if (*value > (max - digit) / 10)
			return false;
		*value = *value * 10 + digit;
		(*in)++;
	}
	if (*in == start)
		return false;
	/* zero has one digit, everything else begins with another one */
	return *start != '0' || *in == start + 1;
}

static bool
take_uint32(const char **in, uint32 *value)
{
	uint64		wide;

	if (!take_decimal(in, PG_UINT32_MAX, &wide))
		return false;
	*value = (uint32) wide;
	return true;
}

/* ---- names of prepared transactions ---- */

static char *
put_incarnation(char *out, const Gid *gid)
{
	out = put_text(out, GID_TAG);
	out = put_hex(out, gid->identity);
	out = put_decimal(out, gid->database);
	return put_decimal(out, gid->incarnation);
}

void
gid_format_incarnation(const Gid *gid, char *buffer)
{
	*put_incarnation(buffer, gid) = '\0';
}

void
gid_format(const Gid *gid, char *buffer)
{
	char	   *out = put_incarnation(buffer, gid);

	out = put_decimal(out, gid->xid);
	out = put_hex(out, gid->token);
	out = put_decimal(out, gid->branch);
	out = put_decimal(out, gid->server);
	out = put_decimal(out, gid->user);
	*out = '\0';
}

bool
gid_parse(const char *input, Gid *gid)
{
	return take_text(&input, GID_TAG) &&
		take_hex(&input, &gid->identity) &&
		take_uint32(&input, &gid->database) &&
		take_decimal(&input, PG_UINT64_MAX, &gid->incarnation) &&
		take_decimal(&input, PG_UINT64_MAX, &gid->xid) &&
		take_hex(&input, &gid->token) &&
		take_uint32(&input, &gid->branch) &&
		take_uint32(&input, &gid->server) &&
		take_uint32(&input, &gid->user) &&
		*input == '\0';
}

bool
gid_is_ours(const Gid *gid, uint64 identity, uint32 database)
{
	return gid->identity == identity && gid->database == database;
}

/* ---- tokens of one-phase commits ---- */

void
one_phase_token_format(const OnePhaseToken *token, char *buffer)
{
	char	   *out = put_text(buffer, ONE_PHASE_TAG);

	out = put_hex(out, token->identity);
	out = put_decimal(out, token->database);
	out = put_decimal(out, token->server);
	out = put_decimal(out, token->user);
	out = put_decimal(out, token->remote_xid);
	out = put_decimal(out, token->start_time);
	out = put_decimal(out, token->system);
	*out = '\0';
}

bool
one_phase_token_parse(const char *input, OnePhaseToken *token)
{
	return take_text(&input, ONE_PHASE_TAG) &&
		take_hex(&input, &token->identity) &&
		take_uint32(&input, &token->database) &&
		take_uint32(&input, &token->server) &&
		take_uint32(&input, &token->user) &&
		take_decimal(&input, PG_UINT64_MAX, &token->remote_xid) &&
		take_decimal(&input, PG_UINT64_MAX, &token->start_time) &&
		take_decimal(&input, PG_UINT64_MAX, &token->system) &&
		*input == '\0';
}
