/* One mount as the kernel sees it: what all operations share. Made before the session, freed after
 * it; the members are constant but for the counters and what has a lock of its own. */
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "fuse/handle.h"
#include "fuse/inode.h"
#include "base/negative_cache.h"
#include "fuse/opts.h"
#include "fuse/page_coherence.h"
#include "fuse/queue.h"
#include "fuse/request.h"
#include "fuse/turns.h"

struct server {
	struct mount *mount;
	struct inodes *inodes;
	struct queue *queue;
	struct turns turns;
	pthread_mutex_t hearing; /* held while libfuse is asked to say when a program gives up */
	struct negative_cache negative; /* names */
	struct handles handles;
	struct notifier *notifier;       /* the session's, from its beginning on */
	struct invalidator *invalidator; /* likewise */
	struct shown_pages *shown;
	uid_t uid, gid;    /* of all files */
	uid_t owner;       /* the user that mounted: of .zarrfs and .store */
	int64_t timeout;   /* ns, of one operation */
	double known_for;  /* s: how long the kernel believes entries and attributes */
	double absent_for; /* s: the same of names that are not there */
	/* Up to here: what is written next answers INIT, and what is said there; before there are
	 * threads. */
	bool init_answer_next, parallel_lookups, direct_mappings, no_capabilities;
	bool direct_writes; /* a write() past the kernel's pages leaves none of them old */
	bool rw;
	enum direct_io direct_io; /* which files are read past the kernel's pages */
	atomic_ullong asked[OPS], failed[OPS], bytes_read, bytes_written;
};

int server_new(struct mount *, const struct opts *, struct server **ret);
struct server *server_free(struct server *);

extern const struct fuse_lowlevel_ops server_ops;
/* The same for a mount that is writable: takes the place of what refuses. */
void server_take_writing(struct fuse_lowlevel_ops *);
void server_take_names(struct fuse_lowlevel_ops *);

/* The parts of server_ops that lie in files of their own. */
void op_open(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
void op_read(fuse_req_t, fuse_ino_t, size_t, off_t, struct fuse_file_info *);
void op_opendir(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
void op_readdir(fuse_req_t, fuse_ino_t, size_t, off_t, struct fuse_file_info *);
void op_readdirplus(fuse_req_t, fuse_ino_t, size_t, off_t, struct fuse_file_info *);
void op_getxattr(fuse_req_t, fuse_ino_t, const char *name, size_t);
void op_listxattr(fuse_req_t, fuse_ino_t, size_t);

/* For the operations. */
void server_reply_attr(struct request *, const struct entry *);
/* Opens what it makes, as op_open. */
void server_run_create(struct request *);
/* "dir/name"; NULL: no memory. */
char *server_child(const struct inode *dir, const char *name);
void server_stat(const struct server *, const struct entry *, struct stat *ret);
/* Before a read(), see open_file_look: a reader that paused while the inode began anew is to find
 * no pages that others brought. 0, or -EIO: these cannot be dropped, since a read of the file hangs
 * until this request's time is over. */
int open_file_resume(struct request *);
/* s: how long the kernel may believe the attributes of an inode. */
double server_known_for(const struct server *, const struct inode *);
/* The entry that an inode stands for. -ESTALE: it is gone, or has another layout now; *ret is then
 * what there is instead. */
int server_entry(struct server *, struct inode *, struct entry *ret);
/* What an inode stands for, from what was seen last: of a layout that is no longer the path's, or
 * when no thread is free to ask the store. But a handle knows how long it is. */
struct stat server_remembered(struct server *, struct inode *);
/* fstat(2) of an open file says nothing of the handle, and a program may ask about one whose name
 * leads elsewhere by now. */
bool server_is_open(struct request *);
/* The kernel's parameters for an entry, counted as looked up. */
int server_param(struct server *, const struct entry *, struct fuse_entry_param *ret);
/* Answers with the entry, counted as looked up; result negative: with that. */
void server_answer_entry(struct request *, int result, const struct entry *);
