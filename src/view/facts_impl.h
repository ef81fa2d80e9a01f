/* The inside of struct facts: facts.c (records, pages, changes, families) and facts_width.c. No
 * other file includes it. All functions want the lock held. */
#pragma once

#include "view/facts.h"

enum width_state { WIDTH_NONE, WIDTH_MEASURING, WIDTH_KNOWN, WIDTH_DENIED };

struct fact {
	struct link idle; /* among those in no use */
	struct map_entry by_path;
	struct fact *open_next, **open_at; /* among those that are open */
	unsigned uses; /* 1 of all that have the file open; threads that measure or wait for that */
	int64_t mtime, noticed; /* of a changed chunk */
	int64_t written;        /* clock_now() of when its flat file was written last */
	uint64_t pages_version;
	int64_t pages_since; /* clock_now(); 0: no pages to keep */
	bool pages_expired;  /* the next open drops them */
	unsigned opens;
	unsigned family; /* of arrays that share a dimension; 0: not known */
	enum width_state width_state;
	uint64_t width_key, attempt; /* of the thread that measures; a new one where what it
					measures is stale */
	uint32_t width;
	int64_t denied_until; /* clock_now(); of WIDTH_DENIED … */
	struct err *denied;   /* … and why; NULL: never */
	char path[];
};

/* NULL: nothing is known. */
struct fact *fact_find(struct facts *, const char *path);
/* The same, but makes one. NULL: no memory; then a fact is forgotten, which costs time but is never
 * wrong. */
struct fact *fact_have(struct facts *, const char *path);
/* It is not dropped until it is in no use. */
void fact_use(struct facts *, struct fact *);
void fact_unuse(struct facts *, struct fact *);
void fact_forget_width(struct facts *, struct fact *);
