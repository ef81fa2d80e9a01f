/* A directory of copies of objects, shared by any number of processes and found again by later
 * ones. A copy is one file: a head with checksums, what it is a copy of, its bytes; made under
 * another name and renamed, so a torn one can only come from a crash of the machine, and is as good
 * as none. Nothing here makes a read fail: what goes wrong is counted, and said once a minute.
 *
 * The files together stay below a size, and leave the last 20th of the disk free: a thread of each
 * process takes away those that were not used for longest. One process at a time does so; none ever
 * waits for another.
 *
 * Any thread may call; no lock is held over I/O. */
#pragma once

#include "store/zmap.h"

struct blob_cache;

/* A copy that was found; bytes of it can be read even when it is taken away meanwhile. */
struct blob_cache_copy {
	int fd; /* -1: none */
	struct zmap_stat stat;
	size_t len;
	int64_t checked; /* clock_wall(): the store had this version then, or later */
	int64_t since;   /* likewise: this version was kept for the first time */
	int64_t used;
	uint32_t crc;
	uint64_t at; /* of the bytes in the file */
};

/* dir is made, with mode 0700, if it is not there; it must be the user's own. size: bytes. warn, if
 * there is one, is told what goes wrong, once a minute at most. */
int blob_cache_open(
	const char *dir, uint64_t size, void (*warn)(const char *what), struct blob_cache **ret);
/* NULL is allowed. */
struct blob_cache *blob_cache_close(struct blob_cache *);

/* id says what it is a copy of, in any words. False: there is none. */
bool blob_cache_find(struct blob_cache *, const char *id, struct blob_cache_copy *ret);
void blob_cache_done(struct blob_cache_copy *);
/* Appends its bytes. False: it is damaged, or there is no memory for it; `into` is as before. */
bool blob_cache_read(
	struct blob_cache *, const char *id, struct blob_cache_copy *, struct buf *into);
/* The store, asked at that time, said that it is still right. */
void blob_cache_still_right(struct blob_cache_copy *, int64_t checked);
/* Keeps a copy of what the store, asked at that time, had, in place of one there may be; or does
 * not. */
void blob_cache_keep(struct blob_cache *, const char *id, const struct zmap_stat *,
	struct span bytes, int64_t checked);
void blob_cache_drop(struct blob_cache *, const char *id);

/* Lines for .zarrfs/stats. */
int blob_cache_stats(struct blob_cache *, struct buf *ret);
/* For tests: waits until nothing is left to take away. */
void blob_cache_settle(struct blob_cache *);
