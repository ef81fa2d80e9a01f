/* What some of the kernel's pages show of a file that is written, those that it had or wrote last.
 * When such a page comes from a mapping only what differs from that counts: by then the store may
 * have another version of the rest. A page that is not known shows what readers of the inode see.
 * Safe from every thread. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct inode;
struct shown;

enum { SHOWN_PAGE = 4096 };

struct shown *shown_free(struct shown *); /* NULL is allowed; returns NULL */
/* The inode was opened to be written: from now on what its pages show is noted. */
void shown_begin(struct inode *);
bool shown_begun(const struct inode *);
/* The page that begins there, its first len bytes. False: it is not known. */
bool shown_find(const struct inode *, uint64_t off, size_t len, uint8_t *ret);
/* Pages that begin there have these bytes now. */
void shown_note(struct inode *, uint64_t off, struct span);
/* A write() that began then (clock_now) went into the kernel's pages. */
void shown_lay(struct inode *, uint64_t off, struct span, int64_t begun);
/* The kernel asks for these bytes, or has none of them. */
void shown_forget(struct inode *, uint64_t off, uint64_t len);

/* A write() goes past the pages. The kernel drops them before and after, and one that is filled
 * meanwhile may be changed and come back: with what was there before, if it is not known any more.
 * Returns what shown_passed ends, after which what fills pages has these bytes. */
uint64_t shown_pass(struct inode *, uint64_t off, size_t len);
/* put: the write() did not fail. */
void shown_passed(struct inode *, uint64_t pass, bool put);
/* All bytes of these pages were asked for at `begun` (clock_now), for pages. */
void shown_filled(struct inode *, uint64_t off, uint64_t len, int64_t begun);
/* The first run of those bytes of [off, off + len) that pages which are not known may have from
 * before such a write. False: there is none. */
bool shown_is_past(
	const struct inode *, uint64_t off, uint64_t len, uint64_t *ret_from, uint64_t *ret_to);
