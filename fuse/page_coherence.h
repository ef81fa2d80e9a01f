/* The pages that the kernel has of an opened file, and since when its readers see what they see.
 *
 * An inode has one set of pages for all handles of it, and a read() takes from them what it
 * finds and asks for the rest. So all pages of an inode must show one version of each chunk:
 * that which was found first since `since` (data/cache.h says how it is kept). When a chunk is
 * found to have changed:
 * - An open() from then on gets another inode, which has no pages yet; unless a handle writes to
 *   the file: then the pages are dropped at that open, and what was written is in the pages of
 *   all handles.
 * - Handles that are open go on as before, until no reader is in the midst of reading: then the
 *   pages are dropped, and the inode begins anew. To find such a moment, the kernel is told to
 *   forget the attributes: it asks for them before each read(), and the answer waits (a few
 *   tenths of a second, or longer on a busy machine) while the reads that are under way come to
 *   their end. A reader that has gone on in file order since before the change comes to the end
 *   of the chunk first. (A page fault asks for no attributes: a program that reads a mapping
 *   gets page by page what there is, and may find a chunk changed from one page to the next.
 *   Its threads are not waited for, where Linux says that they wait in a page fault.)
 * A change is found when the chunk is read. So that no reader is shown what was replaced long
 * ago, an inode that is as old as pages may get begins anew while no reader reads it, and an
 * open() gets another one. Safe from every thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct file;
struct inode;
struct page_coherence;
struct invalidator;
struct request;
struct server;

/* Starts the thread that lets inodes begin anew; after the notifier, and before the session. */
int invalidator_new(struct server *, struct invalidator **ret);
/* Before the notifier stops; NULL is allowed. */
void invalidator_end(struct invalidator *);
struct invalidator *invalidator_free(struct invalidator *);

/* How a handle was opened. */
struct page_coherence_opened {
	bool keep;     /* the kernel's pages stay */
	int64_t since; /* the handle reads past the pages, which are too old for it, and sees what
			  there is since then; 0: what the inode's readers see */
};
/* One more handle is open, of this file. opener: the thread. keep: the kernel's pages are young
 * enough. -ESTALE: the path is to be looked up again, which gives another inode, because other
 * handles read this one. */
int page_coherence_open(struct server *, struct inode *, const struct file *, bool keep,
	pid_t opener, struct page_coherence_opened *ret);
void page_coherence_close(struct server *, struct inode *, bool wrote);
/* Is it open to be written? What is written is in these pages, and not in those of other inodes of
 * the path. */
bool page_coherence_are_written(struct server *, const struct inode *);
/* For array_want.since, and .dropped. own: page_coherence_opened.since of a handle that reads past
 * the pages; 0: what is read fills them. */
int64_t page_coherence_since(const struct inode *, int64_t own);
int64_t page_coherence_dropped_at(const struct inode *);
/* The kernel is about to be told to drop them, or has dropped them. */
void page_coherence_dropped(const struct inode *);
/* A read of an opened inode is about to end. whole: the program's read() ends with it. */
void page_coherence_read(struct inode *, pid_t reader, bool whole);
/* The kernel asks before a read() begins: waits until that may be. */
void page_coherence_wait(struct request *);
/* A chunk has changed. False: no handle of it is open, and its pages may go. */
bool page_coherence_changed(struct server *, struct inode *);
/* Its pages have become too old, and were dropped. */
void page_coherence_aged(struct server *, struct inode *);
/* The path is to lead to another inode from now on. */
void page_coherence_retire(struct server *, struct inode *);
