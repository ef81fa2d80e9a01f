#include "fuse/request.h"

#include "fuse/complain.h"
#include "fuse/failures.h"
#include "fuse/server.h"

#include "base/err.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Signals whose default is to do nothing, or to stop and go on. */
static const int harmless[] = {
	SIGCHLD, SIGURG, SIGWINCH, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};

static uint64_t
signals(const char *status, const char *field)
{
	const char *at = strstr(status, field);
	return at ? strtoull(at + strlen(field), NULL, 16) : 0;
}

static uint64_t
signal_bit(int n)
{
	return UINT64_C(1) << (n - 1);
}

/* Is a signal pending that will end this thread's process? What we cannot see counts as yes. */
static bool
dying(pid_t pid)
{
	char name[64], status[4096];
	snprintf(name, sizeof name, "/proc/%d/status", (int)pid);
	FILE *f = pid ? fopen(name, "re") : NULL;
	if (!f)
		return true;
	size_t n = fread(status, 1, sizeof status - 1, f);
	fclose(f);
	status[n] = 0;
	uint64_t pending = signals(status, "\nSigPnd:") | signals(status, "\nShdPnd:");
	uint64_t survived = signals(status, "\nSigBlk:") | signals(status, "\nSigIgn:") |
			    signals(status, "\nSigCgt:");
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
		survived |= signal_bit(harmless[i]);
	return !n || pending & signal_bit(SIGKILL) || pending & ~survived;
}

/* The request's thread may be in r->run meanwhile, and sees that it lost only when it wants to answer. */
static void
give_up(struct request *r)
{
	fuse_req_t req = r->req;
	atomic_store(&r->cancel.wanted_no_more, true);
	if (!atomic_exchange(&r->answered, true))
		fuse_reply_err(req, EINTR); /* from here on r may be gone */
}

/* Does this thread just hand the request to libfuse? Then libfuse holds a lock in it, and the answer must wait. */
static _Thread_local bool registering;

/* Called by libfuse, once a request at most. */
static void
interrupted(fuse_req_t req, void *arg)
{
	struct request *r = arg;
	(void)req;
	if (!registering && dying(r->pid))
		give_up(r);
	else
		atomic_store(&r->interrupted, true);
}

bool
request_claim(struct request *r)
{
	if (atomic_exchange(&r->answered, true))
		return false;
	fuse_req_interrupt_func(r->req, NULL, NULL); /* waits for interrupted() */
	return true;
}

/* Codes that mean something to whoever called; all others are EIO, and ENOSYS would switch the operation off. A chunk that is too large is no
 * file that is. */
static int
shown(enum op op, int code)
{
	switch (code) {
	case -EFBIG: return op == OP_OPEN ? EFBIG : EIO;
	case -ENOENT:
	case -EACCES:
	case -EPERM:
	case -ENOMEM:
	case -ESTALE:
	case -EROFS:
	case -E2BIG:
	case -ERANGE:
	case -ENODATA:
	case -ENOTDIR:
	case -EISDIR:
	case -ENAMETOOLONG: return -code;
	default: return EIO;
	}
}

static bool
worth_saying(int code)
{
	return code != -ENOENT && code != -ESTALE && code != -ENODATA && code != -ERANGE &&
	       code != -EROFS && code != -ENAMETOOLONG;
}

static const char *const verb[OPS] = {
	[OP_LOOKUP] = "look up",
	[OP_GETATTR] = "stat",
	[OP_OPEN] = "open",
	[OP_READ] = "read",
	[OP_OPENDIR] = "list",
	[OP_READDIR] = "list",
	[OP_READDIRPLUS] = "list",
	[OP_GETXATTR] = "get an attribute of",
	[OP_LISTXATTR] = "list attributes of",
};

/* All but reads are about a name, the child's if one was given, or about the names in a directory: where these cannot be had, it and
 * what lies in it can be found all the same. */
static struct missed_what
name_of(const struct request *r)
{
	bool names = r->op == OP_OPENDIR || r->op == OP_READDIR || r->op == OP_READDIRPLUS;
	uint64_t h = UINT64_C(14695981039346656037) + names; /* FNV-1a */
	for (const char *c = r->inode->path; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
	if (r->op == OP_LOOKUP && *r->inode->path)
		h = (h ^ '/') * UINT64_C(1099511628211);
	for (const char *c = r->op == OP_LOOKUP ? r->name : ""; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
	return (struct missed_what){.key = h, .end = 1};
}

static bool
is_told(const struct request *r, const char *cause)
{
	struct failed_read f = {r->inode->path, r->off, r->off + r->size, r->paged};
	return failures_add(&f, cause);
}

void
request_fail(struct request *r, int code)
{
	struct server *s = r->server;
	if (r->op != OP_READ && when_over(r->deadline)) {
		struct missed_what name = name_of(r);
		missed_add(&s->missed, &name, code);
	}
	bool given_up = cancelled(&r->cancel);
	if (!request_claim(r))
		return;
	if (!given_up)
		atomic_fetch_add_explicit(&s->failed[r->op], 1, memory_order_relaxed);
	if (!given_up && worth_saying(code) && (r->op != OP_READ || is_told(r, err_text()))) {
		const char *path = r->inode->path;
		complain(&(struct complaint){verb[r->op], path, r->name, err_text()});
	}
	fuse_reply_err(r->req, shown(r->op, code));
}

void
request_unref(struct request *r)
{
	if (atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	inodes_put(r->server->inodes, r->inode);
	handle_unref(r->handle);
	free(r);
}

void
request_run(struct request *r)
{
	struct missed_what name = name_of(r);
	int missed;
	if (atomic_load(&r->answered))
		return;
	if (when_over(r->deadline))
		request_fail(
			r, err_set(-ETIMEDOUT, "no time left after waiting for other requests"));
	else if (cancelled(&r->cancel))
		request_fail(r, err_set(-EIO, "the mount is ending"));
	else if (r->op != OP_READ && (missed = missed_lately(&r->server->missed, &name)) < 0)
		request_fail(r, missed);
	else
		r->run(r);
}

static bool
needs_no_store(const struct inode *i)
{
	static const char own[] = ".zarrfs";
	size_t len = sizeof own - 1;
	return !strncmp(i->path, own, len) && (!i->path[len] || i->path[len] == '/');
}

void
request_start(fuse_req_t req, const struct asked *a)
{
	struct server *s = fuse_req_userdata(req);
	size_t len = a->name ? strlen(a->name) : 0;
	struct request *r = calloc(1, sizeof *r + len + 1);
	atomic_fetch_add_explicit(&s->asked[a->op], 1, memory_order_relaxed);
	if (!r) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	r->req = req;
	r->server = s;
	r->op = a->op;
	r->pid = fuse_req_ctx(req)->pid;
	r->run = a->run;
	r->late = a->late;
	r->refs = 1;
	r->inode = inodes_get(s->inodes, a->ino);
	r->off = a->off;
	r->size = a->size;
	r->paged = a->paged;
	r->handle = handle_ref(a->handle);
	if (a->fi)
		r->fi = *a->fi;
	if (len)
		memcpy(r->name, a->name, len);
	r->started = when_now();
	r->deadline = r->started + s->timeout;
	registering = true;
	fuse_req_interrupt_func(req, interrupted, r);
	registering = false;
	queue_start(s->queue, r, a->aside || needs_no_store(r->inode));
}

enum { GRACE = 1 /* s */ };

bool
request_overdue(const struct request *r, int64_t now)
{
	return now > r->deadline + GRACE * SECOND;
}

void
request_tend(struct request *r)
{
	if (atomic_load(&r->interrupted) && dying(r->pid)) {
		atomic_store(&r->cancel.wanted_no_more, true);
		if (request_claim(r))
			fuse_reply_err(r->req, EINTR);
	} else if (request_overdue(r, when_now())) {
		if (r->late)
			r->late(r);
		request_fail(r, err_set(-ETIMEDOUT, "the store does not answer in time"));
		atomic_store(&r->cancel.wanted_no_more, true);
	}
}
