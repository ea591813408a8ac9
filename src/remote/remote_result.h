/*-------------------------------------------------------------------------
 *
 * remote_result.h
 *	  What a shard answered: rows, a command tag or an error.
 *
 * A RemoteResult owns its memory and frees it with the request it belongs
 * to; nobody outside src/remote sees a PGresult.  Rows may have come straight
 * from the wire or back from a spool file, the accessors hide which.
 *
 * Nothing here waits.  The accessors do not raise; remote_result_report()
 * does, at ERROR.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_REMOTE_REMOTE_RESULT_H
#define SHARD_FDW_REMOTE_REMOTE_RESULT_H

typedef struct RemoteResult RemoteResult;

/* Rows and columns; both 0 for a command that returns none. */
extern int	remote_result_nrows(const RemoteResult *result);
extern int	remote_result_nfields(const RemoteResult *result);

/* One value.  The pointer lives as long as the result; text is terminated. */
extern bool remote_result_is_null(const RemoteResult *result, int row, int col);
extern char *remote_result_value(const RemoteResult *result, int row, int col);
extern int	remote_result_length(const RemoteResult *result, int row, int col);

/* The value and its length at once; NULL for SQL NULL. */
extern char *remote_result_field(const RemoteResult *result, int row, int col,
								 int *length);

/* The type the shard gave the column. */
extern Oid	remote_result_type(const RemoteResult *result, int col);

/* The command tag, as in "UPDATE 3" or "ROLLBACK"; never NULL. */
extern const char *remote_result_tag(const RemoteResult *result);

/* The row count in the command tag; 0 when it has none. */
extern uint64 remote_result_affected(const RemoteResult *result);

/* The SQLSTATE of an error, packed as by MAKE_SQLSTATE; 0 for no error. */
extern int	remote_result_sqlstate(const RemoteResult *result);

/* The primary message of an error; never NULL. */
extern const char *remote_result_message(const RemoteResult *result);

/*
 * Passes a shard's error on with its SQLSTATE, message, detail, hint and
 * context, the statement added to the context.  server is the name of the
 * foreign server, sql may be NULL, and so may our_hint, which is given where
 * the shard gives none.
 */
extern void remote_result_report(int elevel, const RemoteResult *result,
								 const char *server, const char *sql,
								 const char *our_hint);

#endif							/* SHARD_FDW_REMOTE_REMOTE_RESULT_H */
