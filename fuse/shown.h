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
/* Waits until there are pages to be dropped: in doubt, or more than the limit allows. false:
 * shown_pages_end was called. */
bool shown_pages_wait(struct shown_pages *);
void shown_pages_end(struct shown_pages *);

/* Pages of one file. */
struct shown_due {
	struct inode *inode; /* held */
	uint64_t *number;    /* malloc'ed */
	size_t count;
	uint64_t stamp; /* see shown_dropped */
};
/* Pages of one file that are in doubt; or of those that are too many, and some more, the pages of
 * the file that has the oldest one. Their count; 0: there are none, or no memory. */
size_t shown_pages_due(struct shown_pages *, struct inodes *, struct shown_due *ret);

/* No handle is open to write it any more. NULL is allowed; returns NULL. */
struct shown *shown_free(struct shown *);
/* The inode was opened to be written: from now on what its pages show is noted. first: no other
 * handle writes it, or it may have pages yet that one like this drops: of pages that the kernel has
 * by now nothing is known. */
int shown_begin(struct shown_pages *, struct inode *, bool *ret_first);
/* A handle that began it is closed. */
void shown_end(struct inode *);
bool shown_begun(const struct inode *);
/* What the page that begins there showed before these bytes, its first ones, came from it; where it
 * may have shown one of two, that which is the same. False: it is not known. */
bool shown_find(const struct inode *, uint64_t off, struct span now, uint8_t *ret);
/* Pages that begin there came from the kernel with these bytes. */
void shown_note(struct inode *, uint64_t off, struct span);
/* The kernel is about to be given them for so many bytes (len), the rest is zeros there; they were
 * read from then on (clock_now). False: some were written since then, and the page would be old. */
bool shown_fill(struct inode *, uint64_t off, struct span, size_t len, int64_t begun);
/* The kernel asks for these bytes, or has none of them. */
void shown_forget(struct inode *, uint64_t off, uint64_t len);
/* The kernel has dropped what pages it had of these bytes; those that were filled after this stamp
 * was had it may have again. */
uint64_t shown_stamp(const struct inode *);
void shown_dropped(struct inode *, uint64_t off, uint64_t len, uint64_t stamp);

/* A write() into pages: the kernel puts its bytes there and then sends it. Where the page was
 * dropped and filled again in between, it may have what was there before: it is in doubt until it
 * is dropped once more, soon, or filled. */
struct shown_write {
	uint64_t from, to; /* bytes that were dropped since the one before came; alike: none */
	uint64_t after;    /* pages that were asked for later than this stamp … */
	uint64_t came;     /* … and not after the write() came */
	int64_t begun;     /* clock_now() */
};
/* It has come; those of a file come one by one, the kernel sees to that. */
void shown_write_came(struct inode *, struct shown_write *ret);
/* It did not fail. True: pages are in doubt, or old, and are being dropped. */
bool shown_lay(struct inode *, uint64_t off, struct span, const struct shown_write *);
/* Waits until they are; not for ever, for the kernel may wait for the write() to be answered. */
void shown_settle(struct inode *, uint64_t off, uint64_t len);

/* The kernel is about to drop what pages it has of these bytes. false: that is not noted, and has
 * no end. */
bool shown_drop_begin(struct inode *, uint64_t off, uint64_t len);
void shown_drop_end(struct inode *);
/* The same of all pages by an open() that is about to be answered, until its program asks for
 * something or closes the file. */
bool shown_open_begin(struct inode *);
void shown_open_end(struct inode *);

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
