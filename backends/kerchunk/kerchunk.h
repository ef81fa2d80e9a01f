/* What kerchunk's two kinds of containers share: kerchunk.c (documents, versions), kerchunk_file.c
 * (one JSON file) and kerchunk_lazy.c (a folder of parquet files). No other file includes it. */
#pragma once

#include "backends/kerchunk/url.h"
#include "base/err.h"
#include "backends/kerchunk/table.h"

#include <pthread.h>

/* One version of a set of references. Counted. */
struct kerchunk_set {
	atomic_uint refs;
	struct kerchunk_table
		*table;        /* references by their keys; of a lazy set: the documents alone */
	struct zmap_stat stat; /* of the object that it was read from */
	char version[17];      /* of that object, and so of everything in it */
	size_t most;           /* bytes that tables may take */
	/* of a lazy set */
	uint64_t record_size; /* references a file */
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t loaded;
	struct kerchunk_part *parts; /* the last used first */
	size_t parts_bytes;
};

struct kerchunk_set *kerchunk_set_ref(struct kerchunk_set *);
struct kerchunk_set *kerchunk_set_unref(struct kerchunk_set *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct kerchunk_set, kerchunk_set_unref)

struct kerchunk {
	struct container c;
	struct zmap *lower;
	char *object; /* that says what there is: the JSON file, or .zmetadata */
	char *root;   /* prefix in lower of what belongs to the set */
	char *home;   /* URL of lower, or NULL */
	size_t most;
	int64_t ttl;
	/* Reads the object into the set, whose head is filled in. 0, -ENOENT, -EAGAIN: it was
	 * replaced meanwhile; -errno. */
	int (*load)(const struct kerchunk *, struct kerchunk_set *);

	pthread_mutex_t lock; /* guards all below */
	struct kerchunk_set *now;
	bool looking;
	int64_t due;        /* clock_now(): of the next look */
	struct err failure; /* of the last look; code 0: none */
};

/* object is below env->lower. The container is closed by its ops. */
int kerchunk_open(const struct container_env *, const char *object, const char *root,
	const struct container_ops *, int (*load)(const struct kerchunk *, struct kerchunk_set *),
	struct kerchunk **ret);

/* Hooks of both kinds. */
void kerchunk_close(struct container *);
int kerchunk_document(struct container *, const char *key, struct buf *into, struct zmap_stat *ret);
int kerchunk_list(struct container *, const char *prefix, zmap_list_fn *, void *arg);
int kerchunk_refresh(struct container *);
size_t kerchunk_held(struct container *);

/* The set that the version of an array's metadata is of. -ESTALE: it is another by now. */
int kerchunk_set_of(struct kerchunk *, const char *version, struct kerchunk_set **ret);
/* The set that a chunk's array is of, and how the array's chunks are called there. -ESTALE as
 * above; -EIO: its document makes no sense. */
struct kerchunk_array;
int kerchunk_array_of(struct kerchunk *, const struct zmap_chunk *, struct kerchunk_set **ret_set,
	struct kerchunk_array *ret);
/* folder: of the file that holds the reference. hold is what ref borrows from: released by release
 * when the place is. */
int kerchunk_place(const struct kerchunk *, const char *folder, const struct kerchunk_ref *ref,
	struct chunk_place *ret);

extern const struct container_ops container_kerchunk_file, container_kerchunk_lazy;

/* kerchunk_lazy.c */
void kerchunk_parts_free(struct kerchunk_set *);
