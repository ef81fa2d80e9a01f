/* One request of the kernel that may have to wait for the store. It is answered once: with its result, or before that with EINTR,
 * when whoever asked is being killed. (Other signals interrupt nothing: programs do not expect EINTR from files.)
 * After the answer libfuse's handle is gone and nobody touches it.
 *
 * Deadlines: whoever runs a request stops in time; if not, it is answered with EIO a second later. */
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "base/when.h"

enum op {
	OP_LOOKUP,
	OP_GETATTR,
	OP_OPEN,
	OP_READ,
	OP_RELEASE,
	OP_OPENDIR,
	OP_READDIR,
	OP_READDIRPLUS,
	OP_GETXATTR,
	OP_LISTXATTR,
	OP_STATFS,
	OP_FORGET,
	OPS,
};

struct handle;
struct inode;
struct server;

struct request {
	struct request *next;          /* in the queue */
	struct request **slot, *after; /* in the list of all; under the queue's lock like next */
	fuse_req_t req;
	struct server *server;
	enum op op;
	pid_t pid; /* the thread that asks; 0: not of a process that we see */
	void (*run)(struct request *);
	void (*late)(
		struct request *); /* told that it was answered for having no time left; or NULL */
	atomic_uint refs;
	struct inode *inode;   /* held until the end */
	struct handle *handle; /* so is this; NULL: not about an open file */
	struct fuse_file_info fi;
	uint64_t off;
	size_t size;
	bool paged; /* the kernel asks again, if it was not a program that wanted these bytes */
	int64_t started, deadline;
	int64_t begun; /* when its turn came; 0: not yet; under the queue's lock */
	struct cancel cancel;
	atomic_bool answered;
	atomic_bool interrupted; /* and whoever set it is done with this request */
	char name[];
};

/* What an operation was called with; name, fi and the rest as the operation has them. */
struct asked {
	enum op op;
	void (*run)(struct request *), (*late)(struct request *);
	fuse_ino_t ino;
	const char *name;
	const struct fuse_file_info *fi; /* of open and opendir */
	struct handle *handle;           /* of what is about an open file */
	uint64_t off;
	size_t size;
	bool paged; /* for pages that the kernel keeps */
	bool aside; /* needs no store: does not wait for others */
};

/* Runs it now on this thread, or when its turn comes on another. Answers with an error if that cannot be. */
void request_start(fuse_req_t, const struct asked *);

/* true: the caller now answers, once, and touches r->req no more. false: somebody did; undo what the answer promised. */
bool request_claim(struct request *);
/* code: -errno with err_text. Logged unless it only says that something is not there. */
void request_fail(struct request *, int code);
/* Did the kernel take the answer? A claim and the reply in one, for replies that promise something. */
#define request_answer(r, reply) (request_claim(r) && (reply) == 0)

/* --- for the queue --- */

/* Runs it, unless there is no time left for it or nobody waits for it. */
void request_run(struct request *);
void request_unref(struct request *);
/* Should it have stopped by itself long ago? */
bool request_overdue(const struct request *, int64_t now);
/* Answers it if whoever asked is being killed, or if it is overdue. */
void request_tend(struct request *);
