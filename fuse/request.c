#include "fuse/request.h"

#include "fuse/log_once.h"
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

enum { STATUS_MAX = 4096 };

/* What /proc says of a thread. False: we cannot see it. */
static bool
look_at(pid_t pid, char status[static STATUS_MAX])
{
	char name[64];
	snprintf(name, sizeof name, "/proc/%d/status", (int)pid);
	FILE *f = pid ? fopen(name, "re") : NULL;
	if (!f)
		return false;
	size_t n = fread(status, 1, STATUS_MAX - 1, f);
	fclose(f);
	status[n] = 0;
	return n;
}

/* Is a signal pending that will end this thread's process? What we cannot see counts as yes. */
static bool
dying(pid_t pid)
{
	char status[STATUS_MAX];
	if (!look_at(pid, status))
		return true;
	uint64_t pending = signals(status, "\nSigPnd:") | signals(status, "\nShdPnd:");
	uint64_t survived = signals(status, "\nSigBlk:") | signals(status, "\nSigIgn:") |
			    signals(status, "\nSigCgt:");
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
		survived |= signal_bit(harmless[i]);
	return pending & signal_bit(SIGKILL) || pending & ~survived;
}

/* Has the thread ended? What we cannot see counts as no. */
static bool
gone(pid_t pid)
{
	static const char state[] = "\nState:\t";
	char status[STATUS_MAX];
	if (pid && kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	const char *at = look_at(pid, status) ? strstr(status, state) : NULL;
	return at && strchr("ZX", at[sizeof state - 1]);
}

/* The request's thread may be in r->run meanwhile, and sees that it lost only when it wants to
 * answer. */
static void
give_up(struct request *r)
{
	fuse_req_t req = r->req;
	atomic_store(&r->cancel.wanted_no_more, true);
	if (atomic_exchange(&r->state, REQUEST_ANSWERED) != REQUEST_ANSWERED)
		fuse_reply_err(req, EINTR); /* from here on r may be gone */
}

/* Does this thread just hand the request to libfuse? Then libfuse holds a lock in it, and the
 * answer must wait. */
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

/* libfuse tells at once what it has heard before. */
void
request_hear(struct request *r)
{
	if (atomic_load(&r->state) != REQUEST_UNHEARD)
		return;
	LOCKED(&r->server->hearing) {
		enum request_state was = REQUEST_UNHEARD;
		if (!atomic_compare_exchange_strong(&r->state, &was, REQUEST_HEARD))
			return;
		registering = true;
		fuse_req_interrupt_func(r->req, interrupted, r);
		registering = false;
	}
}

/* Called when the thread of a read is about to wait, and while it does. */
static bool
look(struct cancel *c)
{
	struct request *r =
		(struct request *)(void *)((char *)c - offsetof(struct request, cancel));
	request_hear(r);
	return atomic_load(&c->wanted_no_more);
}

bool
request_claim(struct request *r)
{
	const enum request_state was = atomic_exchange(&r->state, REQUEST_ANSWERED);
	if (was == REQUEST_HEARD) {
		LOCKED(&r->server->hearing) /* request_hear() has ended, on whichever thread */
			;
		fuse_req_interrupt_func(r->req, NULL, NULL); /* waits for interrupted() */
	}
	return was != REQUEST_ANSWERED;
}

static int
shown_of_writing(int code)
{
	switch (code) {
	case -EACCES:
	case -EBADF:
	case -EBUSY:
	case -EDQUOT:
	case -EEXIST:
	case -EFBIG:
	case -EINTR:
	case -EINVAL:
	case -EISDIR:
	case -ENAMETOOLONG:
	case -ENODATA:
	case -ENOENT:
	case -ENOMEM:
	case -ENOSPC:
	case -ENOTDIR:
	case -ENOTEMPTY:
	case -EOPNOTSUPP:
	case -EPERM:
	case -ERANGE:
	case -EROFS:
	case -ESTALE:
	case -E2BIG: return -code;
	default: return EIO;
	}
}

/* Codes that mean something to the program that called; all others are EIO, and ENOSYS would switch
 * the operation off. A chunk that is too large is no file that is. */
static int
shown(enum op op, int code)
{
	if (op >= OP_WRITE)
		return shown_of_writing(code);
	switch (code) {
	case -EFBIG: return op == OP_OPEN ? EFBIG : EIO;
	case -EINVAL:
	case -ENOSPC: return op == OP_OPEN ? -code : EIO; /* what failed before, and sticks */
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

/* ERANGE of what writes says that a value does not fit, of what reads that a buffer is short. */
static bool
worth_saying(enum op op, int code)
{
	return code != -ENOENT && code != -ESTALE && code != -ENODATA && code != -EROFS &&
	       code != -ENAMETOOLONG && code != -EPERM && code != -EBUSY && code != -EEXIST &&
	       code != -ENOTEMPTY && code != -EOPNOTSUPP && code != -EINTR &&
	       (code != -ERANGE || op >= OP_WRITE);
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
	[OP_RELEASE] = "store",
	[OP_WRITE] = "write",
	[OP_SETATTR] = "set the size of",
	[OP_FALLOCATE] = "set the size of",
	[OP_FLUSH] = "store",
	[OP_FSYNC] = "store",
	[OP_FSYNCDIR] = "store what is in",
	[OP_CREATE] = "create",
	[OP_UNLINK] = "remove",
	[OP_MKDIR] = "make",
	[OP_RMDIR] = "remove",
	[OP_RENAME] = "rename",
	[OP_SETXATTR] = "set an attribute of",
	[OP_REMOVEXATTR] = "remove an attribute of",
};

/* Those that are about the names in a directory. */
static bool
has_child(enum op op)
{
	return op == OP_LOOKUP || (op >= OP_CREATE && op <= OP_RENAME);
}

/* All but reads are about a name, the child's if one was given, or about the names in a directory:
 * where these cannot be had, it and what lies in it can be found all the same. */
static struct negative_cache_what
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
	return (struct negative_cache_what){.key = h, .end = 1};
}

static bool
is_told(const struct request *r, const char *cause)
{
	struct failed_read f = {r->inode->path, r->off, r->off + r->size, r->paged};
	return failures_add(&f, cause);
}

void
request_log(const struct request *r, int code)
{
	atomic_fetch_add_explicit(&r->server->failed[r->op], 1, memory_order_relaxed);
	if (worth_saying(r->op, code))
		log_once(&(struct log_once_line){verb[r->op], r->inode->path,
			has_child(r->op) ? r->name : NULL, err_text()});
}

/* A program that asks once more waits again, since it changes something. */
static bool
may_be_missed(const struct request *r)
{
	return r->op != OP_READ && r->op < OP_WRITE && r->op != OP_RELEASE;
}

void
request_fail(struct request *r, int code)
{
	struct server *s = r->server;
	if (may_be_missed(r) && clock_over(r->deadline)) {
		struct negative_cache_what name = name_of(r);
		negative_cache_add(&s->negative, &name, code);
	}
	bool given_up = cancelled(&r->cancel);
	if (!request_claim(r))
		return;
	if (!given_up)
		atomic_fetch_add_explicit(&s->failed[r->op], 1, memory_order_relaxed);
	if (!given_up && worth_saying(r->op, code) &&
		(r->op != OP_READ || is_told(r, err_text()))) {
		const char *path = r->inode->path;
		const char *name = r->op >= OP_SETXATTR ? NULL : r->name;
		log_once(&(struct log_once_line){verb[r->op], path, name, err_text()});
	}
	fuse_reply_err(r->req, shown(r->op, code));
}

void
request_done(struct request *r, int result)
{
	if (result < 0)
		request_fail(r, result);
	else if (request_claim(r))
		fuse_reply_err(r->req, 0);
}

/* Then a request that holds the handle need not. */
static bool
holds_inode(const struct handle *h, const struct inode *i)
{
	return h && h->inode == i;
}

void
request_unref(struct request *r)
{
	if (atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	if (!holds_inode(r->handle, r->inode))
		inodes_put(r->server->inodes, r->inode);
	inodes_put(r->server->inodes, r->other);
	handle_unref(r->handle);
	free(r->data_own);
	free(r);
}

bool
request_stores(const struct request *r)
{
	return r->op == OP_RELEASE || (r->op >= OP_WRITE && r->op <= OP_FSYNCDIR) ||
	       r->op == OP_RENAME;
}

int
request_own(struct request *r)
{
	if (!r->data.len || r->data_own)
		return 0;
	r->data_own = malloc(r->data.len);
	if (!r->data_own)
		return -ENOMEM;
	memcpy(r->data_own, r->data.data, r->data.len);
	r->data.data = r->data_own;
	return 0;
}

void
request_run(struct request *r)
{
	struct negative_cache_what name = name_of(r);
	int missed;
	/* What was written before the process was killed is stored all the same. */
	if (atomic_load(&r->state) == REQUEST_ANSWERED && r->op != OP_FLUSH && r->op != OP_RELEASE)
		return;
	if (clock_over(r->deadline))
		request_fail(
			r, err_set(-ETIMEDOUT, "no time left after waiting for other requests"));
	else if (atomic_load(&r->cancel.wanted_no_more) && !request_stores(r))
		request_fail(r, err_set(-EIO, "the mount is ending"));
	else if (may_be_missed(r) &&
		 (missed = negative_cache_lately(&r->server->negative, &name, clock_now())) < 0)
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
	size_t len = a->name ? strlen(a->name) : 0,
	       more = a->new_name ? strlen(a->new_name) + 1 : 0;
	struct request *r = calloc(1, sizeof *r + len + 1 + more);
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
	r->ending = a->ending;
	r->ended = a->ended;
	r->refs = 1;
	r->inode = inodes_at(s->inodes, a->ino);
	if (!holds_inode(a->handle, r->inode))
		r->inode = inodes_get(s->inodes, a->ino);
	if (atomic_load_explicit(&r->inode->fresh, memory_order_relaxed))
		inodes_arrived(s->inodes, r->inode);
	r->heard = atomic_load(&r->inode->heard);
	r->known = atomic_load(&r->inode->known);
	r->off = a->off;
	r->size = a->size;
	r->paged = a->paged;
	r->handle = handle_ref(a->handle);
	if (a->fi)
		r->fi = *a->fi;
	if (len)
		memcpy(r->name, a->name, len);
	if (more)
		r->new_name = memcpy(r->name + len + 1, a->new_name, more);
	r->data = a->data;
	r->flags = a->flags;
	r->other = a->other ? inodes_get(s->inodes, a->other) : NULL;
	r->started = r->looked = clock_now();
	r->deadline = request_stores(r) ? 0 : r->started + s->timeout;
	if (r->op == OP_READ)
		r->cancel.look = look;
	else
		request_hear(r);
	queue_start(s->queue, r, a->aside || needs_no_store(r->inode));
}

enum { GRACE = 1 /* s */ };

/* A request that waits for pages of another one asks itself when these do not come. */
static const int64_t LINGERS = SECOND / 2;

bool
request_lingers(struct request *r, int64_t now)
{
	if (!r->paged || now - r->looked < LINGERS)
		return false;
	r->looked = now;
	return true;
}

bool
request_overdue(const struct request *r, int64_t now)
{
	return r->deadline && now > r->deadline + GRACE * SECOND;
}

void
request_tend(struct request *r)
{
	const bool heard = atomic_load(&r->state) != REQUEST_UNHEARD;
	request_hear(r);
	bool ended = atomic_load(&r->interrupted) ? dying(r->pid) : heard && gone(r->pid);
	if (ended) {
		atomic_store(&r->cancel.wanted_no_more, true);
		if (request_claim(r))
			fuse_reply_err(r->req, EINTR);
	} else if (request_overdue(r, clock_now())) {
		if (r->late)
			r->late(r);
		request_fail(r, err_set(-ETIMEDOUT, "the store does not answer in time"));
		atomic_store(&r->cancel.wanted_no_more, true);
	}
}
