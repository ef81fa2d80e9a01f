/* A directory of copies of objects, shared by any number of processes and found again by later ones. A copy is one file: a head
 * with checksums, what it is a copy of, its bytes; made under another name and renamed, so a torn one can only come from a crash of
 * the machine, and is as good as none. Nothing here makes a read fail: what goes wrong is counted, and said once a minute.
 *
 * The files together stay below a size, and leave the last 20th of the disk free: a thread of each process takes away those that
 * were not used for longest. One process at a time does so; none ever waits for another.
 *
 * Any thread may call; no lock is held over I/O. */
#pragma once

#include "store/zmap.h"

struct depot;

/* A copy that was found; bytes of it can be read even when it is taken away meanwhile. */
struct depot_copy {
	int fd; /* -1: none */
	struct zmap_stat stat;
	size_t len;
	int64_t checked; /* when_wall(): the store had this version then, or later */
	int64_t since;   /* likewise: this version was kept for the first time */
	int64_t used;
	uint32_t crc;
	uint64_t at; /* of the bytes in the file */
};

/* dir is made, with mode 0700, if it is not there; it must be the user's own. size: bytes. warn (NULL: nobody) is told what
 * goes wrong, once a minute at most. */
int depot_open(const char *dir, uint64_t size, void (*warn)(const char *what), struct depot **ret);
/* NULL is allowed. */
struct depot *depot_close(struct depot *);

/* id says what it is a copy of, in any words. False: there is none. */
bool depot_find(struct depot *, const char *id, struct depot_copy *ret);
void depot_done(struct depot_copy *);
/* Appends its bytes. False: it is damaged, or there is no memory for it; `into` is as before. */
bool depot_read(struct depot *, const char *id, struct depot_copy *, struct buf *into);
/* The store, asked at that time, said that it is still right. */
void depot_still_right(struct depot_copy *, int64_t checked);
/* Keeps a copy of what the store, asked at that time, had, in place of one there may be; or does not. */
void depot_keep(struct depot *, const char *id, const struct zmap_stat *, struct span bytes,
	int64_t checked);
void depot_drop(struct depot *, const char *id);

/* Lines for .zarrfs/stats. */
int depot_stats(struct depot *, struct buf *ret);
/* For tests: waits until nothing is left to take away. */
void depot_settle(struct depot *);
