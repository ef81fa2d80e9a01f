/* Tells the kernel which of its pages, attributes and names are stale. Runs on the mount's own
 * thread; the session must still be answering requests, because the kernel waits for those that are
 * under way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct inode;
struct server;
struct fuse_session;
struct notifier;

int notifier_new(struct server *, struct fuse_session *, struct notifier **ret);
/* Nothing is told from here on; returns when nothing is being told. May be called again. */
void notifier_stop(struct notifier *);
/* The same, until then at most (clock_now). true: nothing is being told. */
bool notifier_end(struct notifier *, int64_t until);
/* After a read, or a change of the size: drops pages that could not be dropped while it was under
 * way. */
void notifier_pay(struct notifier *, struct inode *);
/* What the kernel knows of an inode is to be asked for again: its attributes; these and its pages,
 * unless the session is ending. */
void notifier_forget(struct notifier *, struct inode *);
void notifier_drop(struct notifier *, struct inode *);
/* The same of pages of len bytes, see shown_dropped. false: the session is ending. */
bool notifier_drop_run(
	struct notifier *, struct inode *, uint64_t off, uint64_t len, uint64_t stamp);
struct notifier *notifier_free(struct notifier *);
