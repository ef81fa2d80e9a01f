/* What the kernel's pages show of files that are open to be written. When such a page comes from a
 * mapping only what differs from that counts: by then the store may have another version of the
 * rest. A page that is not known shows what readers of the inode see.
 *
 * A page is remembered from when the kernel gets it until the kernel drops it, or no handle of the
 * file is open to be written any more. The kernel says nothing of pages that it lets go of: so
 * beyond a limit of all files the oldest ones are dropped here (fuse/shown_drop.h). Safe from every
 * thread. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct inode;
struct inodes;
struct shown;
struct shown_pages;

enum { SHOWN_PAGE = 4096 };

/* How much memory pages take, about, from now on. */
typedef void shown_held(void *arg, size_t bytes);
/* Of a mount. limit: bytes; held may be NULL. */
int shown_pages_new(size_t limit, shown_held *held, void *arg, struct shown_pages **ret);
/* After all inodes; NULL is allowed. */
struct shown_pages *shown_pages_free(struct shown_pages *);
/* Waits until there are more than the limit allows. false: shown_pages_end was called. */
bool shown_pages_over(struct shown_pages *);
void shown_pages_end(struct shown_pages *);

/* Pages of one file. */
struct shown_oldest {
	struct inode *inode; /* held */
	uint64_t *number;    /* malloc'ed */
	size_t count;
	uint64_t stamp; /* see shown_dropped */
};
/* Of the pages that are too many, and some more, those of the file that has the oldest one. Their
 * count; 0: there are none, or no memory. */
size_t shown_pages_oldest(struct shown_pages *, struct inodes *, struct shown_oldest *ret);

/* No handle is open to write it any more. NULL is allowed; returns NULL. */
struct shown *shown_free(struct shown *);
/* The inode was opened to be written: from now on what its pages show is noted. first: no other
 * handle writes it, and of pages that the kernel has by now nothing is known. */
int shown_begin(struct shown_pages *, struct inode *, bool *ret_first);
/* A handle that began it is closed. */
void shown_end(struct inode *);
bool shown_begun(const struct inode *);
/* The page that begins there, its first len bytes. False: it is not known. */
bool shown_find(const struct inode *, uint64_t off, size_t len, uint8_t *ret);
/* Pages that begin there came from the kernel with these bytes. */
void shown_note(struct inode *, uint64_t off, struct span);
/* The kernel is about to be given them. */
void shown_fill(struct inode *, uint64_t off, struct span);
/* A write() that began then (clock_now) went into the kernel's pages, and made whole ones. */
void shown_lay(struct inode *, uint64_t off, struct span, int64_t begun);
/* The kernel asks for these bytes, or has none of them. */
void shown_forget(struct inode *, uint64_t off, uint64_t len);
/* The kernel has dropped what pages it had of these bytes; those that were filled after this stamp
 * was had it may have again. */
uint64_t shown_stamp(const struct inode *);
void shown_dropped(struct inode *, uint64_t off, uint64_t len, uint64_t stamp);

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
