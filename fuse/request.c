#include "fuse/request.h"

#include "fuse/complain.h"
#include "fuse/notify.h"
#include "fuse/server.h"

#include "base/err.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* When a running request counts as stuck (ns), and how many threads more there may be in place of those that are. */
static const int64_t STUCK_AFTER = SECOND / 2;
enum { RELIEF_MAX = 192 };

/* Requests of one sort: how many run, and who waits. */
struct lane {
	struct request *first, **last;
	unsigned running, running_max, waiting;
	unsigned relieved,
		stuck; /* how many run on threads of relief; how many ran for long when last looked at */
};

struct queue {
	pthread_mutex_t lock; /* guards all below, and the links of requests */
	struct request *all;
	struct lane reads,
		names; /* so that hanging reads do not keep others from names, and the other way round */
	unsigned relief; /* threads */
	pthread_cond_t relief_gone;
	bool cancelled;
};

int
queue_new(unsigned reads, unsigned names, struct queue **ret)
{
	struct queue *q = calloc(1, sizeof *q);
	if (!q)
		return err_set(-ENOMEM, "no memory for requests");
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->relief_gone, NULL);
	q->reads = (struct lane){.last = &q->reads.first, .running_max = reads};
	q->names = (struct lane){.last = &q->names.first, .running_max = names};
	*ret = q;
	return 0;
}

struct queue *
queue_free(struct queue *q)
{
	if (!q)
		return NULL;
	pthread_cond_destroy(&q->relief_gone);
	pthread_mutex_destroy(&q->lock);
	free(q);
	return NULL;
}

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

/* Codes that mean something to whoever called; all others are EIO, and ENOSYS would switch the operation off. */
static int
shown(int code)
{
	switch (code) {
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

/* All but reads are about a name, the child's if one was given. */
static struct missed_what
name_of(const struct request *r)
{
	uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */
	for (const char *c = r->inode->path; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
	if (r->op == OP_LOOKUP && *r->inode->path)
		h = (h ^ '/') * UINT64_C(1099511628211);
	for (const char *c = r->op == OP_LOOKUP ? r->name : ""; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
	return (struct missed_what){.key = h, .end = 1};
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
	if (!given_up && worth_saying(code)) {
		const char *path = r->inode->path;
		complain(&(struct complaint){verb[r->op], path, r->name, err_text()});
	}
	fuse_reply_err(r->req, shown(code));
}

static void
request_unref(struct request *r)
{
	if (atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	inodes_put(r->server->inodes, r->inode);
	handle_unref(r->handle);
	free(r);
}

static struct lane *
lane_of(struct queue *q, const struct request *r)
{
	return r->op == OP_READ ? &q->reads : &q->names;
}

/* May a thread of relief, or one of the session's, run one more? */
static bool
has_place(const struct lane *l, bool relief)
{
	return relief ? l->relieved < l->stuck : l->running < l->running_max;
}

static struct request *
take_waiting(struct lane *l, bool relief)
{
	struct request *r = has_place(l, relief) ? l->first : NULL;
	if (!r)
		return NULL;
	l->first = r->next;
	if (!l->first)
		l->last = &l->first;
	l->waiting--;
	*(relief ? &l->relieved : &l->running) += 1;
	r->begun = when_now();
	return r;
}

static void
run_unless_late(struct request *r)
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

/* Runs one request to its end and returns the next one that waits, if any. */
static struct request *
run_one(struct queue *q, struct request *r, bool relief)
{
	struct request *next = NULL;
	run_unless_late(r);
	LOCKED(&q->lock) {
		struct lane *l = lane_of(q, r);
		*r->slot = r->after;
		if (r->after)
			r->after->slot = r->slot;
		*(relief ? &l->relieved : &l->running) -= 1;
		next = take_waiting(l, relief);
	}
	if (r->op == OP_READ)
		notifier_pay(r->server->notifier, r->inode);
	request_unref(r);
	return next;
}

/* true: it is this thread's turn to run it. */
static bool
admit(struct queue *q, struct request *r, bool aside)
{
	bool now = false;
	LOCKED(&q->lock) {
		struct lane *l = lane_of(q, r);
		r->slot = &q->all;
		r->after = q->all;
		q->all = r;
		if (r->after)
			r->after->slot = &r->after;
		if (q->cancelled)
			atomic_store(&r->cancel.wanted_no_more, true);
		now = l->running < l->running_max || aside;
		if (now) {
			l->running++;
			r->begun = r->started;
		} else {
			*l->last = r;
			l->last = &r->next;
			l->waiting++;
		}
	}
	return now;
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
	if (!admit(s->queue, r, a->aside || needs_no_store(r->inode)))
		return;
	while (r)
		r = run_one(s->queue, r, false);
}

void
queue_cancel(struct queue *q)
{
	LOCKED(&q->lock) {
		q->cancelled = true;
		for (struct request *r = q->all; r; r = r->after)
			atomic_store(&r->cancel.wanted_no_more, true);
	}
}

enum { LOOKED_AFTER = 64, GRACE = 1 /* s */ };

static bool
overdue(const struct request *r, int64_t now)
{
	return now > r->deadline + GRACE * SECOND;
}

static void
tend(struct request *r)
{
	if (atomic_load(&r->interrupted) && dying(r->pid)) {
		atomic_store(&r->cancel.wanted_no_more, true);
		if (request_claim(r))
			fuse_reply_err(r->req, EINTR);
	} else if (overdue(r, when_now())) {
		if (r->late)
			r->late(r);
		request_fail(r, err_set(-ETIMEDOUT, "the store does not answer in time"));
		atomic_store(&r->cancel.wanted_no_more, true);
	}
}

struct relief {
	struct queue *queue;
	struct request *first;
};

static void
relief_ends(struct queue *q)
{
	LOCKED(&q->lock) {
		q->relief--;
		pthread_cond_broadcast(&q->relief_gone);
	}
}

static void *
relieve(void *arg)
{
	struct relief *a = arg;
	struct queue *q = a->queue;
	struct request *r = a->first;
	free(a);
	while (r)
		r = run_one(q, r, true);
	relief_ends(q);
	return NULL;
}

/* A request that waits, and for which there is a place now. The lock is held. */
static struct request *
next_to_relieve(struct queue *q)
{
	struct request *r = NULL;
	if (q->relief < RELIEF_MAX) {
		r = take_waiting(&q->reads, true);
		r = r ? r : take_waiting(&q->names, true);
	}
	q->relief += r != NULL;
	return r;
}

static void
count_stuck(struct queue *q)
{
	int64_t now = when_now();
	q->reads.stuck = q->names.stuck = 0;
	for (struct request *r = q->all; r; r = r->after)
		lane_of(q, r)->stuck += r->begun && now - r->begun > STUCK_AFTER;
}

/* Requests that are stuck give their places away: to threads that are begun for those that wait. */
static void
begin_relief(struct queue *q)
{
	for (;;) {
		struct relief *a = malloc(sizeof *a);
		struct request *r = NULL;
		pthread_t thread;
		LOCKED(&q->lock) {
			count_stuck(q);
			r = a ? next_to_relieve(q) : NULL;
		}
		if (!r) {
			free(a);
			return;
		}
		*a = (struct relief){q, r};
		if (pthread_create(&thread, NULL, relieve, a) == 0) {
			pthread_detach(thread);
			continue;
		}
		free(a);
		for (; r; r = run_one(q, r, true))
			request_fail(r, err_set(-EIO, "cannot start a thread"));
		relief_ends(q);
		return;
	}
}

void
queue_end(struct queue *q)
{
	LOCKED(&q->lock) {
		while (q->relief)
			pthread_cond_wait(&q->relief_gone, &q->lock);
	}
}

bool
queue_tend(struct queue *q)
{
	struct request *some[LOOKED_AFTER];
	size_t n = 0;
	bool busy = false;
	int64_t now = when_now();
	LOCKED(&q->lock) {
		busy = q->all;
		for (struct request *r = q->all; r && n < LOOKED_AFTER; r = r->after) {
			if (atomic_load(&r->answered) ||
				!(atomic_load(&r->interrupted) || overdue(r, now)))
				continue;
			atomic_fetch_add(&r->refs, 1);
			some[n++] = r;
		}
	}
	for (size_t i = 0; i < n; i++) {
		tend(some[i]);
		request_unref(some[i]);
	}
	begin_relief(q);
	return busy;
}

bool
queue_full(struct queue *q)
{
	bool full = false;
	LOCKED(&q->lock)
		full = q->names.running >= q->names.running_max;
	return full;
}

void
queue_count(struct queue *q, unsigned *ret_running, unsigned *ret_waiting)
{
	LOCKED(&q->lock) {
		*ret_running = q->reads.running + q->names.running + q->relief;
		*ret_waiting = q->reads.waiting + q->names.waiting;
	}
}

bool
queue_reads(struct queue *q, const struct inode *i, int64_t ns)
{
	bool reads = false;
	int64_t before = when_now() - ns;
	LOCKED(&q->lock) {
		for (const struct request *r = q->all; r && !reads; r = r->after)
			reads = r->op == OP_READ && r->inode == i && r->started <= before;
	}
	return reads;
}

bool
queue_asks_in(struct queue *q, const char *path, int64_t ns)
{
	bool asks = false;
	int64_t before = when_now() - ns;
	LOCKED(&q->lock) {
		for (const struct request *r = q->all; r && !asks; r = r->after)
			asks = r->op != OP_READ && r->started <= before &&
			       !strcmp(r->inode->path, path);
	}
	return asks;
}
