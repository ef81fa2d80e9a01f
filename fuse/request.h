/* One request of the kernel that may have to wait for the store. It is answered once: with its
 * result, or before that with EINTR, when the program that asked is being killed. (Other signals
 * interrupt nothing: programs do not expect EINTR from files.) After the answer libfuse's handle is
 * gone and no thread touches it.
 *
 * Deadlines: the thread that runs a request stops in time; if not, it is answered with EIO a second
 * later. What stores has none: it goes on as long as the store takes bytes. */
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "base/buf.h"
#include "base/clock.h"

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
	OP_WRITE,
	OP_SETATTR,
	OP_FALLOCATE,
	OP_FLUSH,
	OP_FSYNC,
	OP_FSYNCDIR,
	OP_CREATE,
	OP_UNLINK,
	OP_MKDIR,
	OP_RMDIR,
	OP_RENAME,
	OP_SETXATTR,
	OP_REMOVEXATTR,
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
	void (*late)(const struct request *); /* it is answered for having no time left; or NULL */
	/* Its run is over: while it still counts as under way, and after that; or NULL. */
	void (*ending)(const struct request *), (*ended)(const struct request *);
	atomic_uint refs;
	struct inode *inode;   /* held until the end */
	struct handle *handle; /* so is this; NULL: not about an open file */
	unsigned heard;        /* the inode's, as the request came */
	uint64_t known;        /* so is this */
	struct fuse_file_info fi;
	uint64_t off;
	size_t size;
	bool paged; /* the kernel asks again, if it was not a program that wanted these bytes */
	struct span data; /* of a write; of setxattr, the value */
	void *data_own;   /* a copy of it, for a request that has to wait; NULL: it is the caller's,
			     which waits */
	struct inode
		*other; /* of rename: the directory that it goes to, with new_name; held likewise */
	const char *new_name;      /* behind name */
	unsigned flags;            /* of rename and setxattr */
	int64_t started, deadline; /* 0: none */
	int64_t looked;            /* when its thread was looked at last; under the queue's lock */
	int64_t begun;             /* when its turn came; 0: not yet; under the queue's lock */
	struct cancel cancel;
	_Atomic enum request_state {
		REQUEST_UNHEARD, /* libfuse is not yet asked to say when the program gives up */
		REQUEST_HEARD,   /* under server.hearing */
		REQUEST_ANSWERED,
	} state;
	atomic_bool interrupted; /* and the thread that set it is done with this request */
	char name[];
};

/* What an operation was called with; name, fi and the rest as the operation has them. */
struct asked {
	enum op op;
	void (*run)(struct request *);
	void (*late)(const struct request *), (*ending)(const struct request *),
		(*ended)(const struct request *);
	fuse_ino_t ino;
	const char *name;
	const struct fuse_file_info *fi; /* of open, opendir and write */
	struct handle *handle;           /* of what is about an open file */
	uint64_t off;
	size_t size;
	struct span data; /* until request_start returns */
	fuse_ino_t other;
	const char *new_name;
	unsigned flags;
	bool paged; /* for pages that the kernel keeps */
	bool aside; /* needs no store: does not wait for others */
};

/* Runs it now on this thread, or when its turn comes on another. Answers with an error if that
 * cannot be. */
void request_start(fuse_req_t, const struct asked *);

/* true: the caller now answers, once, and touches r->req no more. false: another thread did; undo
 * what the answer promised. */
bool request_claim(struct request *);
/* code: -errno with err_text. Logged unless it only says that something is not there. */
void request_fail(struct request *, int code);
/* Answers what only succeeds or fails. Negative: as request_fail. */
void request_done(struct request *, int result);
/* Did the kernel take the answer? A claim and the reply in one, for replies that promise
 * something. */
#define request_answer(r, reply) (request_claim(r) && (reply) == 0)

/* A failure that no program hears of: logged. */
void request_log(const struct request *, int code);

/* --- for the queue --- */

/* Does it change the store, or wait for that? */
bool request_stores(const struct request *);
/* Before it waits for its turn: what the caller has in memory is copied. 0 or -ENOMEM. */
int request_own(struct request *);

/* Runs it, unless there is no time left for it or no program waits for it. */
void request_run(struct request *);
void request_unref(struct request *);
/* Should it have stopped by itself long ago? */
bool request_overdue(const struct request *, int64_t now);
/* Is it time to see whether the thread that asked for pages is still there? It may have ended while
 * the kernel read ahead for it. */
bool request_lingers(struct request *, int64_t now);
/* From now on it is known at once when the program gives up. A read that is answered from memory is
 * over before that is worth asking for: it is heard when its thread is about to wait, or when it is
 * tended. */
void request_hear(struct request *);
/* Answers it if the program that asked is being killed or has ended, or if it is overdue. */
void request_tend(struct request *);
