/* The pages that the kernel has of an opened file, and since when its readers see what they see.
 *
 * An inode has one set of pages for all who have it open, and a read() takes from them what it finds and asks for the rest. So all pages
 * of an inode must show one version of each chunk: that which was found first since `since` (data/cache.h says how it is kept). When
 * a chunk is found to have changed:
 * - Whoever opens the file from then on gets another inode, which has no pages yet.
 * - Who has it open goes on as before, until nobody is in the midst of reading: then the pages are dropped, and the inode begins
 *   anew. To find such a moment, the kernel is told to forget the attributes: it asks for them before each read(), and the answer
 *   waits (a few tenths of a second, or longer on a busy machine) while the reads that are under way come to their end. Who has
 *   gone on in file order since before the change comes to the end of the chunk first. (A page fault asks for no attributes: a
 *   program that reads a mapping gets page by page what there is, and may find a chunk changed from one page to the next.)
 * A change is found when the chunk is read. So that nobody is shown what was replaced long ago, an inode that is as old as pages may
 * get begins anew while nobody reads it, and who opens the file gets another one.
 * Safe from every thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct inode;
struct pages;
struct renewer;
struct request;
struct server;

/* Starts the thread that lets inodes begin anew; after the notifier, and before the session. */
int renewer_new(struct server *, struct renewer **ret);
/* Before the notifier stops; NULL is allowed. */
void renewer_end(struct renewer *);
struct renewer *renewer_free(struct renewer *);

/* One more has it open. keep: the kernel's pages are young enough. *ret_keep: they stay. -ESTALE: the path is to be looked up again,
 * which gives another inode, because others read this one. */
int pages_open(struct server *, struct inode *, bool keep, bool *ret_keep);
void pages_close(struct server *, struct inode *);
/* For array_want.since. */
int64_t pages_since(const struct inode *);
/* A read of an opened inode is about to end. */
void pages_read(struct inode *);
/* The kernel asks before a read() begins: waits until that may be. */
void pages_wait(struct request *);
/* A chunk has changed. False: nobody has it open, and its pages may go. */
bool pages_changed(struct server *, struct inode *);
/* Its pages have become too old, and were dropped. */
void pages_aged(struct server *, struct inode *);
/* The path is to lead to another inode from now on. */
void pages_retire(struct server *, struct inode *);
