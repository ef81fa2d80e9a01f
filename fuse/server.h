/* One mount as the kernel sees it: what all operations share. Made before the session, freed after it; the members
 * are constant but for the counters and what has a lock of its own. */
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "fuse/handle.h"
#include "fuse/inode.h"
#include "fuse/missed.h"
#include "fuse/opts.h"
#include "fuse/pages.h"
#include "fuse/queue.h"
#include "fuse/request.h"

struct server {
	struct mount *mount;
	struct inodes *inodes;
	struct queue *queue;
	struct missed missed; /* names */
	struct handles handles;
	struct notifier *notifier; /* the session's, from its beginning on */
	struct renewer *renewer;   /* likewise */
	uid_t uid, gid;            /* of all files */
	uid_t owner;               /* who mounted: of .zarrfs and .store */
	int64_t timeout;           /* ns, of one operation */
	double known_for;          /* s: how long the kernel believes entries and attributes */
	double absent_for;         /* s: the same of names that are not there */
	/* Up to here: what is written next answers INIT, and what is said there; before there are threads. */
	bool init_answer_next, parallel_lookups, direct_mappings;
	bool direct_io; /* programs read netCDF files past the kernel's pages */
	atomic_ullong asked[OPS], failed[OPS], bytes_read;
};

int server_new(struct mount *, const struct opts *, struct server **ret);
struct server *server_free(struct server *);

extern const struct fuse_lowlevel_ops server_ops;

/* The parts of server_ops that lie in files of their own. */
void op_open(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
void op_read(fuse_req_t, fuse_ino_t, size_t, off_t, struct fuse_file_info *);
void op_opendir(fuse_req_t, fuse_ino_t, struct fuse_file_info *);
void op_readdir(fuse_req_t, fuse_ino_t, size_t, off_t, struct fuse_file_info *);
void op_readdirplus(fuse_req_t, fuse_ino_t, size_t, off_t, struct fuse_file_info *);
void op_getxattr(fuse_req_t, fuse_ino_t, const char *name, size_t);
void op_listxattr(fuse_req_t, fuse_ino_t, size_t);

/* For the operations. */
void server_stat(const struct server *, const struct entry *, struct stat *ret);
/* file_move of a handle that has an inode. */
bool handle_move(struct handle *, const struct array_move *);
/* The entry that an inode stands for. -ESTALE: it is gone, or has another layout now. */
int server_entry(struct server *, struct inode *, struct entry *ret);
/* The kernel's parameters for an entry, counted as looked up. */
int server_param(struct server *, const struct entry *, struct fuse_entry_param *ret);
