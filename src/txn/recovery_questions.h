/*-------------------------------------------------------------------------
 *
 * recovery_questions.h
 *	  What has become, on its shard, of a branch of a committed transaction
 *	  that is not prepared there any more (D)?
 *
 * Part of a recovery pass over one shard: the questions are queued together,
 * nothing here waits, and what the answers mean goes into the pass's report
 * and the participants' states.  Memory is that of the pass.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHARD_FDW_TXN_RECOVERY_QUESTIONS_H
#define SHARD_FDW_TXN_RECOVERY_QUESTIONS_H

#include "remote/remote_request.h"
#include "txn/recovery.h"
#include "txn/recovery_rows.h"

typedef struct RecoveryQuestions RecoveryQuestions;

/* On whose connection to ask comes with the first question. */
extern RecoveryQuestions *recovery_questions_create(RecoveryReport *report);

/* Decides about the participant, or will ask for it. */
extern void recovery_questions_add(RecoveryQuestions *questions,
								   RemoteConn *conn,
								   RecoveryParticipant *participant);

/*
 * Asks, some at a time, and acts on the answers; true when all have come.
 * Never waits.
 */
extern bool recovery_questions_advance(RecoveryQuestions *questions);

/* When all have come: is something left for another pass? */
extern bool recovery_questions_has_more(const RecoveryQuestions *questions);

#endif							/* SHARD_FDW_TXN_RECOVERY_QUESTIONS_H */
