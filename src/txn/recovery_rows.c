/*-------------------------------------------------------------------------
 *
 * recovery_rows.c
 *	  The rows of the commit log during a recovery pass.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "txn/recovery_rows.h"

/* Hash key of a participant; no padding, so it can be compared as bytes. */
typedef struct ParticipantKey
{
	uint64		xid;
	uint64		token;
	uint64		branch;
} ParticipantKey;

/* An entry of the session's memory: state is final. */
typedef struct KnownParticipant
{
	ParticipantKey key;
	ParticipantState state;
} KnownParticipant;

/* An entry of RecoveryRows.by_key. */
typedef struct IndexedParticipant
{
	ParticipantKey key;
	RecoveryParticipant *participant;
} IndexedParticipant;

struct RecoveryRows
{
	List	   *entries;		/* of CommitLogEntry, oldest first */
	int			nparticipants;
	RecoveryParticipant *participants;	/* in the order of entries */
	HTAB	   *by_key;
};

/* What this session knows for good of rows that are still in the log. */
static HTAB *known = NULL;

static HTAB *
create_hash(const char *name, Size entry_size, MemoryContext context)
{
	HASHCTL		control;

	memset(&control, 0, sizeof(control));
	control.keysize = sizeof(ParticipantKey);
	control.entrysize = entry_size;
	control.hcxt = context;
	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static ParticipantKey
participant_key(const RecoveryParticipant *participant)
{
	ParticipantKey key;

	key.xid = participant->entry->xid;
	key.token = participant->entry->token;
	key.branch = participant->who->branch;
	return key;
}

static void
remember(const RecoveryParticipant *participant)
{
	ParticipantKey key = participant_key(participant);
	KnownParticipant *item;

	if (known == NULL)
		known = create_hash("shard_fdw known participants",
							sizeof(KnownParticipant), TopMemoryContext);
	item = hash_search(known, &key, HASH_ENTER, NULL);
	item->state = participant->state;
}

/*
 * Forgets what belongs to rows that are gone: what is left is known of the
 * rows just read.
 */
static void
rebuild_memory(RecoveryRows *rows)
{
	int			index;

	if (known == NULL)
		return;
	hash_destroy(known);
	known = NULL;
	for (index = 0; index < rows->nparticipants; index++)
	{
		if (rows->participants[index].state != PARTICIPANT_OPEN)
			remember(&rows->participants[index]);
	}
}

static void
add_participant(RecoveryRows *rows, CommitLogEntry *entry,
				CommitLogParticipant *who)
{
	RecoveryParticipant *participant = &rows->participants[rows->nparticipants++];
	ParticipantKey key;
	KnownParticipant *item;
	IndexedParticipant *indexed;

	participant->entry = entry;
	participant->who = who;
	participant->state = PARTICIPANT_OPEN;
	participant->is_prepared = false;
	key = participant_key(participant);
	item = known ? hash_search(known, &key, HASH_FIND, NULL) : NULL;
	if (item)
		participant->state = item->state;
	indexed = hash_search(rows->by_key, &key, HASH_ENTER, NULL);
	indexed->participant = participant;
}

RecoveryRows *
recovery_rows_load(void)
{
	RecoveryRows *rows = palloc0(sizeof(RecoveryRows));
	ListCell   *cell;
	int			total = 0;

	rows->entries = commit_log_list();
	foreach(cell, rows->entries)
		total += ((CommitLogEntry *) lfirst(cell))->nparticipants;
	rows->participants = palloc_extended(sizeof(RecoveryParticipant) *
										 Max(total, 1), MCXT_ALLOC_HUGE);
	rows->by_key = create_hash("shard_fdw recovery participants",
							   sizeof(IndexedParticipant), CurrentMemoryContext);
	foreach(cell, rows->entries)
	{
		CommitLogEntry *entry = lfirst(cell);
		int			index;

		for (index = 0; index < entry->nparticipants; index++)
			add_participant(rows, entry, &entry->participants[index]);
	}
	rebuild_memory(rows);
	return rows;
}

RecoveryParticipant *
recovery_rows_find(RecoveryRows *rows, uint64 xid, uint64 token, uint32 branch)
{
	ParticipantKey key;
	IndexedParticipant *indexed;

	key.xid = xid;
	key.token = token;
	key.branch = branch;
	indexed = hash_search(rows->by_key, &key, HASH_FIND, NULL);
	return indexed ? indexed->participant : NULL;
}

List *
recovery_rows_on_server(RecoveryRows *rows, Oid serverid,
						ParticipantState state)
{
	List	   *found = NIL;
	int			index;

	for (index = 0; index < rows->nparticipants; index++)
	{
		RecoveryParticipant *participant = &rows->participants[index];

		if (participant->who->serverid == serverid &&
			participant->state == state)
			found = lappend(found, participant);
	}
	return found;
}

void
recovery_rows_set_state(RecoveryParticipant *participant,
						ParticipantState state)
{
	Assert(participant->state == PARTICIPANT_OPEN && state != PARTICIPANT_OPEN);
	participant->state = state;
	remember(participant);
}

void
recovery_rows_set_history(RecoveryParticipant *participant,
						  const ShardHistory *history)
{
	participant->who->history = *history;
	commit_log_replace(participant->entry);
}

int
recovery_rows_trim(RecoveryRows *rows)
{
	List	   *finished = NIL;
	ListCell   *cell;
	int			index = 0;

	foreach(cell, rows->entries)
	{
		CommitLogEntry *entry = lfirst(cell);
		int			end = index + entry->nparticipants;
		bool		is_past = true;

		for (; index < end; index++)
		{
			if (rows->participants[index].state != PARTICIPANT_PAST)
				is_past = false;
		}
		if (is_past)
			finished = lappend(finished, entry);
	}
	return commit_log_delete(finished);
}
