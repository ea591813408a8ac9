/*-------------------------------------------------------------------------
 *
 * recovery_rows.h
 *	  The rows of the commit log during a recovery pass, and how far each of
 *	  their participants is.
 *
 * A participant once seen past its transaction stays so; that is remembered
 * for the session, so that a shard that is down for long does not make the
 * others be asked again and again for rows it keeps alive.
 *
 * Everything belongs to the context current in recovery_rows_load(), the
 * memory of the session to TopMemoryContext.  May raise; does not wait.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_RECOVERY_ROWS_H
#define SHARD_FDW_TXN_RECOVERY_ROWS_H

#include "txn/commit_log.h"

typedef enum ParticipantState
{
	PARTICIPANT_OPEN,			/* until the shard has been asked */
	PARTICIPANT_PAST,			/* final: committed there, nothing prepared */
	PARTICIPANT_LOST			/* final: gone without having committed (D) */
} ParticipantState;

typedef struct RecoveryParticipant
{
	CommitLogEntry *entry;
	CommitLogParticipant *who;
	ParticipantState state;
	bool		is_prepared;	/* for the pass: its gid was in the list */
} RecoveryParticipant;

typedef struct RecoveryRows RecoveryRows;

/* Reads the log. */
extern RecoveryRows *recovery_rows_load(void);

/* The participant with that gid; NULL when the row was not there yet. */
extern RecoveryParticipant *recovery_rows_find(RecoveryRows *rows, uint64 xid,
											   uint64 token, uint32 branch);

/* Participants on a server in the given state, oldest row first. */
extern List *recovery_rows_on_server(RecoveryRows *rows, Oid serverid,
									 ParticipantState state);

/* The only change of state: from OPEN to one of the final states. */
extern void recovery_rows_set_state(RecoveryParticipant *participant,
									ParticipantState state);

/* Deletes the rows all of whose participants are past; returns how many. */
extern int	recovery_rows_trim(RecoveryRows *rows);

/*
 * The participant was seen prepared on a server that was failed over or
 * restored since: what that one says of its transaction id counts from now on.
 * Changes the row, too.
 */
extern void recovery_rows_set_history(RecoveryParticipant *participant,
									  const ShardHistory *history);

#endif							/* SHARD_FDW_TXN_RECOVERY_ROWS_H */
