/* What a listing above stores said: objects, each with its stat where the store said that too, and
 * prefixes. A thread that walks through a directory needs to ask for none of these objects. Owned
 * by the cached node of the directory; guarded by the model's lock. There may be 100,000 names, so
 * they share blocks of memory, with the threads that still go through them. */
#pragma once

#include "store/zmap.h"

/* Names, each with its NUL and what was said of it behind that. Only one thread adds; all live
 * until the last reference is gone. */
struct listed_texts;
struct listed_texts *texts_new(void); /* NULL: no memory */
struct listed_texts *texts_ref(struct listed_texts *);
struct listed_texts *texts_unref(struct listed_texts *); /* NULL allowed; returns NULL */
/* A name: keys lie below it (prefix), or it is an object, of which stat is known, or NULL. NULL: no
 * memory. */
const char *texts_add(
	struct listed_texts *, const char *name, bool prefix, const struct zmap_stat *stat);

struct listed {
	struct listed_texts *texts;
	const char **of; /* sorted */
	size_t count;
	int64_t begun,
		due; /* clock_now(): when the store was asked, and until when the answer is good */
	/* of the thread that walks through it: the entry behind the last one that was asked for,
	 * how many were so before that, up to which entry all were looked at, and how many together
	 * at last */
	size_t next, in_order, ahead, wide;
};

/* Room for n names of these texts. NULL: no memory. */
struct listed *listed_new(struct listed_texts *, size_t n);
struct listed *listed_free(struct listed *);
CLEAN_DEFINE(struct listed, listed_free)

/* Where in `of` the name is; NULL: it is not. */
const char **listed_find(const struct listed *, const char *name);
/* Of a name in texts. */
bool listed_is_prefix(const char *name);
/* What the store said of it, times in whole seconds: HEAD says no more, and the two are to be the
 * same. False: it said nothing. */
bool listed_stat(const char *name, struct zmap_stat *ret);
size_t listed_bytes(const struct listed *);
