/* A zip archive that is written. What was put since the last sync is pending: it lies in a file
 * without a name beside the archive, and reads see it before the archive's own. Sync writes a new
 * archive beside the old one, and renames it. One process writes an archive at a time: it holds a
 * lock on it, and on each new one before that has the name. */
#pragma once

#include "backends/zip/zip.h"

/* Counted: what was taken from it is read to its end. */
struct zip_spill {
	atomic_uint refs;
	int fd;
	uint64_t end;
};

/* A key that was put or deleted. Counted; immutable. */
struct zip_pending {
	atomic_uint refs;
	char *key;
	bool gone;         /* deleted; nothing below holds */
	uint64_t off, len; /* in the spill */
	uint32_t crc;
	uint64_t serial; /* with the writer's mark it is the version */
	int64_t put;     /* clock_wall() */
	struct zip_spill *spill;
};

/* What lies over an archive. */
struct zip_layer {
	struct zip_pending **pending; /* sorted by strcmp of keys */
	size_t count;
};

struct zip_spill *zip_spill_unref(struct zip_spill *);
CLEAN_DEFINE(struct zip_spill, zip_spill_unref)

struct zip_writer {
	char *path; /* of the archive itself, where links end */
	int lock; /* its descriptor; -1: another program's archive is there, and cannot be locked */
	uint64_t mark;           /* no other writer's */
	pthread_mutex_t syncing; /* held by zip_sync, also while it waits for the disk */
	atomic_bool unsynced;    /* a crash may undo the name of the archive */

	atomic_bool any; /* something is pending: so that reads of an archive that is not written
			    take no lock */

	/* guarded by the store's lock */
	struct zip_spill *spill; /* NULL: nothing was put since the last sync */
	struct zip_layer layer;
	uint64_t serial;             /* of the last one */
	uint64_t base;               /* archive.serial: over which one they lie */
	struct zip_renewed *renewed; /* written here and not read yet; changes only while the
					archive is looked at, too */
};

/* 0, or why the archive cannot be written. */
int zip_writer_new(const char *path, struct zip_writer **ret);
struct zip_writer *zip_writer_free(struct zip_writer *); /* NULL is allowed; returns NULL */
/* The directory in which the archive lies: a descriptor, or -errno. */
int zip_writer_folder(const struct zip_writer *);
/* Is that file still what the path names? */
bool zip_writer_is_there(const struct zip_writer *, int fd);
enum { ZIP_LOCK_AT = 1 << 30 };
/* A mount that writes to the archive holds this lock, over each new archive too. */
int zip_writer_lock(struct zip_writer *);

/* What is pending of a key; NULL: nothing is. */
struct zip_pending *zip_pending_find(struct zip_store *, const char *key);
/* The same in a layer, not counted; and the index of the first key that is not below this one. */
struct zip_pending *zip_pending_at(const struct zip_layer *, const char *key);
size_t zip_pending_place(const struct zip_layer *, const char *key);
/* Is the archive's member left as it is by what lies over it? */
bool zip_pending_stays(
	const struct zip_layer *, const struct zip_index *, const struct zip_member *);
struct zip_pending *zip_pending_unref(struct zip_pending *);
CLEAN_DEFINE(struct zip_pending, zip_pending_unref)
struct zip_origin zip_pending_origin(const struct zip_writer *, const struct zip_pending *);
void zip_pending_say(const struct zip_writer *, const struct zip_pending *, struct zmap_stat *ret);
/* As zmap_get of it. */
int zip_pending_read(const struct zip_writer *, const struct zip_pending *, const struct zmap_get *,
	struct zmap_stat *ret);
/* As zmap_list, of the archive with what is pending laid over it, both as they are now. */
int zip_pending_list(struct zip_store *, const char *prefix, zip_name_fn *, void *arg);
/* What is pending of keys that begin so; the caller's. The store's lock is held. 0 or -ENOMEM. */
int zip_layer_copy(const struct zip_layer *, const char *prefix, struct zip_layer *ret);
void zip_layer_free(struct zip_layer *); /* what it holds, not itself */

int zip_put(struct zmap *, const struct zmap_put *, struct zmap_stat *ret);
int zip_del(struct zmap *, const struct zmap_del *);
int zip_sync(struct zmap *);

/* A member of the archive, as stat says it. */
void zip_say_stat(const struct archive *, const struct zip_member *, struct zmap_stat *ret);
void zip_say_version(const struct zip_origin *, uint32_t crc, struct zmap_stat *ret);
struct zip_origin zip_origin_of(const struct archive *, const struct zip_member *);
bool zip_same_archive(const struct zmap_stat *, const struct zmap_stat *);
/* What the archive is now. stale: known to be no longer what is there; NULL: not known. at_once:
 * whenever the last look was. */
int zip_look(struct zip_store *, const struct archive *stale, bool at_once, struct archive **ret);
/* As it was at the last look: reads find out by themselves when it is replaced. */
int zip_current(struct zip_store *, struct archive **ret);
/* Between them no thread looks which archive is there. */
void zip_look_begin(struct zip_store *);
void zip_look_end(struct zip_store *);
/* Which archive is there is looked at before anything else. */
void zip_look_again(struct zip_store *);
/* Could this name of a member be a key? It is changed. */
bool zip_is_key(char *name);

struct zip_rewrite {
	int from, to; /* the old archive; a new file */
	const char *prefix;
	const struct zip_layer *layer;
	/* Does the entry of that number in the directory stay? */
	bool (*stays)(void *arg, size_t number, const char *name, size_t len);
	void *arg;
};

/* 0 or -errno. What is in `to` is then durable only if it is synced. */
int zip_rewrite(const struct zip_rewrite *);
