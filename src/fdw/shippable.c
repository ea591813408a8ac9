/*-------------------------------------------------------------------------
 *
 * shippable.c
 *	  May an object of this database be named in a statement for a shard?
 *
 * What is remembered is the extension an object belongs to, which no option
 * changes; whether that extension is vouched for is looked up each time in
 * the caller's list, which is short.  An entry goes when the catalog row of
 * its object changes, so that an oid used again by another object finds
 * nothing old.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "fdw/shippable.h"

typedef struct ObjectKey
{
	Oid			objectid;
	Oid			classid;
} ObjectKey;

typedef struct ObjectEntry
{
	ObjectKey	key;			/* must be first */
	uint32		row_hash;		/* of the object's row in its syscache; 0 if
								 * its catalog is not watched */
	Oid			extension;		/* InvalidOid if it belongs to none */
} ObjectEntry;

/* the catalogs whose changes are watched */
static const struct
{
	Oid			classid;
	int			syscache;
}			watched[] = {
	{OperatorRelationId, OPEROID},
	{ProcedureRelationId, PROCOID},
	{TypeRelationId, TYPEOID}
};

static HTAB *objects = NULL;

/* Callback of the watched syscaches; row_hash 0 means all rows. */
static void
forget_objects(Datum arg, CompatSysCacheId syscache, uint32 row_hash)
{
	Oid			classid = DatumGetObjectId(arg);
	HASH_SEQ_STATUS status;
	ObjectEntry *entry;

	hash_seq_init(&status, objects);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (entry->key.classid == classid &&
			(row_hash == 0 || entry->row_hash == row_hash))
			hash_search(objects, &entry->key, HASH_REMOVE, NULL);
	}
}

static void
create_objects(void)
{
	HASHCTL		control = {0};
	int			position;

	control.keysize = sizeof(ObjectKey);
	control.entrysize = sizeof(ObjectEntry);
	objects = hash_create("shard_fdw shippable objects", 256, &control,
						  HASH_ELEM | HASH_BLOBS);
	for (position = 0; position < lengthof(watched); position++)
		CacheRegisterSyscacheCallback(watched[position].syscache,
									  forget_objects,
									  ObjectIdGetDatum(watched[position].classid));
}

static uint32
object_row_hash(const ObjectKey *key)
{
	int			position;

	for (position = 0; position < lengthof(watched); position++)
	{
		if (watched[position].classid == key->classid)
			return GetSysCacheHashValue1(watched[position].syscache,
										 ObjectIdGetDatum(key->objectid));
	}
	return 0;
}

/*
 * The catalogs are read before the entry is made, because reading them may
 * run the callback above or raise.
 */
static Oid
object_extension(const ObjectKey *key)
{
	ObjectEntry *entry;
	Oid			extension;
	uint32		row_hash;

	if (objects == NULL)
		create_objects();
	entry = hash_search(objects, key, HASH_FIND, NULL);
	if (entry)
		return entry->extension;
	row_hash = object_row_hash(key);
	extension = getExtensionOfObject(key->classid, key->objectid);
	entry = hash_search(objects, key, HASH_ENTER, NULL);
	entry->row_hash = row_hash;
	entry->extension = extension;
	return extension;
}

/*
 * Oids below this bound are written down in the catalog's sources, so they
 * mean the same object everywhere.
 */
bool
shippable_is_builtin(Oid objectid)
{
	return objectid < FirstGenbkiObjectId;
}

bool
shippable_is_shippable(Oid objectid, Oid classid, List *extensions)
{
	ObjectKey	key;
	Oid			extension;

	if (shippable_is_builtin(objectid))
		return true;
	if (extensions == NIL)
		return false;
	key.objectid = objectid;
	key.classid = classid;
	extension = object_extension(&key);
	return OidIsValid(extension) && list_member_oid(extensions, extension);
}
