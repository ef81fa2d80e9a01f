/* What a mount remembers about paths besides the model: when chunks were seen to change, which
 * kernel pages may still be used, how wide variable-length elements are, which arrays grow
 * together. One record a path; of those that are in no use the FACTS_IDLE that were used last are
 * kept. What the others said is found out again, and a path without a record counts as changed when
 * the last of theirs did; only the time of such a change is no longer a file's mtime. Any thread.
 */
#pragma once

#include "base/clean.h"
#include "base/links.h"
#include "base/map.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fact;

enum { FACTS_IDLE = 16384, STRANGERS_MOST = 4096 };

struct facts {
	pthread_mutex_t lock; /* guards all below and every fact */
	unsigned families;
	struct strangers {
		unsigned (*family)[2]; /* two and two that were found to be different ones */
		size_t n;
	} strangers;
	pthread_cond_t measured;
	struct map by_path;
	struct links idle; /* records in no use, the least recently used first */
	size_t nidle;
	int64_t noticed, written; /* the newest ones of records that were dropped */
	struct fact *open;        /* those of open files */
	atomic_size_t nopen;      /* of them; read without the lock */
	atomic_ullong changes;    /* chunks that were seen to change so far */
	atomic_ullong forgotten;  /* widths that were known and are no longer */
	int64_t denied_for; /* ns; how long it is remembered that a width may not be measured. Set
			       before use; 0: not at all */
};

void facts_init(struct facts *);
void facts_free(struct facts *);

/* By the path of a node: a chunk was found to have changed at mtime (ns; 0: unknown). What hangs on
 * the old chunk is forgotten. */
void facts_changed(struct facts *, const char *path, int64_t mtime);
/* It was written through its flat file, whose pages show it already. */
void facts_written(struct facts *, const char *path, int64_t mtime);
/* Time of the newest such change, 0: none. */
int64_t facts_mtime(struct facts *, const char *path);
/* clock_now() of when the last one was noticed, 0: never. flat: the last that the flat file's pages
 * do not show. */
int64_t facts_noticed(struct facts *, const char *path, bool flat);

/* By the path of a file: it is opened in this version (closed). True: pages that the kernel kept
 * from earlier are of this version, not older than ttl, and `noticed` is not after them. False: the
 * kernel drops them now. */
bool facts_open(struct facts *, const char *path, uint64_t version, int64_t ttl, int64_t noticed);
void facts_close(struct facts *, const char *path);
/* True once when pages of an open file are older than ttl: the caller has them dropped. */
bool facts_outlived(struct facts *, const char *path, int64_t ttl);

/* The width of a node's elements in version `key`, from memory or by calling measure, one caller at
 * a time. measure: 0, or -errno, passed on: -EACCES also to those that ask in the next denied_for,
 * no other one. */
typedef int facts_measure_fn(void *arg, uint32_t *ret);
int facts_width(struct facts *, const char *path, uint64_t key, facts_measure_fn *measure,
	void *arg, uint32_t *ret);
/* The same, if it was measured already. */
bool facts_know_width(struct facts *, const char *path, uint64_t key, uint32_t *ret);
void facts_forget_width(struct facts *, const char *path);

/* Arrays whose first dimension was seen to be the same one are of a family. By the paths of two
 * nodes. */
enum kin { KIN_UNKNOWN, KIN_NONE, KIN_SAME };
enum kin facts_kin(struct facts *, const char *a, const char *b);
/* They are of one from now on, and all that are of either; else they are of different ones, unless
 * they were of one before. */
void facts_set_kin(struct facts *, const char *a, const char *b, bool same);
/* It is another array from now on. */
void facts_forget_kin(struct facts *, const char *path);

/* fn is told of each open file of which facts_outlived would be true. */
typedef void facts_path_fn(void *arg, const char *path);
void facts_age(struct facts *, int64_t ttl, facts_path_fn *fn, void *arg);
/* Forgets widths and pages; fn is told of each file that is open. */
void facts_expire(struct facts *, facts_path_fn *fn, void *arg);
