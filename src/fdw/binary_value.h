/*-------------------------------------------------------------------------
 *
 * binary_value.h
 *	  Values in the binary format of the protocol into Datums.
 *
 * A BinaryInput reads the values of one column of a remote result.  It is
 * made for the local type, which must be one of the built-in types whose
 * binary form is the same everywhere and does not depend on settings; before
 * values are read it is told the type the shard gave the column.  Where that
 * is another type it reads what the shard would have sent as text, or says
 * that it cannot.
 *
 * Texts are taken as they are: they come in the database encoding, while the
 * receive functions would convert from the client_encoding of the user's
 * session.
 *
 * Allocates in the current memory context.  Reading may raise, as the
 * functions of the types do.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_FDW_BINARY_VALUE_H
#define SHARD_FDW_FDW_BINARY_VALUE_H

typedef struct BinaryInput BinaryInput;

/*
 * NULL when values of the type must come as text.  A domain is read as its
 * base type is, and checked.
 */
extern BinaryInput *binary_input_create(Oid type, int32 typmod);

/* Can it read values of that remote type?  Must be asked before reading. */
extern bool binary_input_accept(BinaryInput *input, Oid remote_type);

/*
 * Reads a value, NULL for SQL NULL.  The bytes must be followed by a zero
 * byte and aligned nohow.
 */
extern Datum binary_input_read(BinaryInput *input, char *value, int length);

#endif							/* SHARD_FDW_FDW_BINARY_VALUE_H */
