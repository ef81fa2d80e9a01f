#include "fuse/page_coherence.h"

#include "fuse/askers.h"
#include "fuse/notify.h"
#include "fuse/open_file.h"
#include "fuse/server.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>

/* ns. No read() is under way if none has asked for anything for askers_quiet(), and of the threads
 * that are known none can be in the midst of one. */
static const int64_t LOOK_EVERY = SECOND / 200, PARKED_MOST = 4; /* times that */
/* When an inode is tried again: one read in order; one not quiet, or with reads that hang. */
static const int64_t AGAIN_ORDER = SECOND / 5, AGAIN_BUSY = SECOND / 2;
/* The kernel looks a name up once more where it may not be opened, and only once: an inode that it
 * finds then is opened, whatever has become of it. */
static const int64_t LOOKED_UP_AGAIN = 10 * SECOND;
/* Two programs that open a file together, of which no pages are ever young, have one inode. */
static const int64_t TOGETHER = SECOND / 5;
/* Tries after which reads that come all the time are those of a mapping; handles looked at. */
enum { TRIES = 40, READERS = 64 };

struct page_coherence {
	struct inode *inode;
	_Atomic int64_t since, read; /* clock_now(); of the end of the last read that may go on */
	_Atomic int64_t dropped;     /* of when the kernel was told last; 0: never */
	struct askers askers;
	/* The rest is under the invalidator's lock. */
	unsigned opens, writers; /* writers: of those that have it open */
	int64_t begun;           /* 0: it has no pages yet */
	/* When changes were noticed that its readers do not see; 0: none. */
	int64_t noticed, noticed_last;
	bool retired, listed;
	_Atomic bool parked, asking; /* reads that begin wait; the kernel asks before each */
	struct page_coherence *next; /* to be renewed */
	int64_t try_at;
	unsigned tries;
};

struct invalidator {
	struct server *server;
	pthread_t thread;
	pthread_mutex_t lock; /* guards all below, and pages */
	pthread_cond_t more, unparked;
	struct page_coherence *first;
	bool end;
};

/* --- opening --- */

/* Its inode's, made when it is first opened. NULL: no memory. */
static struct page_coherence *
page_coherence_of(struct inode *i)
{
	struct page_coherence *p = atomic_load(&i->pages), *none = NULL;
	if (p || !(p = calloc(1, sizeof *p)))
		return p;
	p->inode = i;
	if (atomic_compare_exchange_strong(&i->pages, &none, p))
		return p;
	free(p);
	return none;
}

/* The invalidator's lock is held, and no handle of the inode reads. */
static void
begin_anew(struct page_coherence *p)
{
	p->begun = clock_now();
	atomic_store(&p->since, p->begun);
	p->noticed = 0;
}

/* A reader that opens the file now would be shown what was the store's longer ago than that may
 * be. */
static bool
too_old(const struct server *s, const struct page_coherence *p)
{
	return clock_now() - atomic_load(&p->since) >= mount_options(s->mount)->data.ttl;
}

/* An inode with old pages, which other handles read. brief: pages are never young, and each program
 * that opens the file would take the new inode from the last one. */
static int
admit_beside(const struct server *s, struct page_coherence *p, bool brief, int64_t *ret_since)
{
	const int64_t now = clock_now();
	const bool changed = p->retired || p->noticed,
		   again = p->inode->beside && now - p->inode->born < LOOKED_UP_AGAIN;
	if (!again && (changed || !brief || now - p->begun >= TOGETHER)) {
		p->retired = true;
		return -ESTALE;
	}
	/* a kernel that maps no file which is read past its pages would refuse that */
	if (changed || s->direct_mappings)
		*ret_since = now;
	return 0;
}

/* The lock is held. keep: the pages are young enough. While a handle writes all have one inode:
 * what it writes is in those pages alone. 0, or -ESTALE without a text. */
static int
admit(const struct server *s, struct page_coherence *p, bool keep, bool reading,
	struct page_coherence_opened *ret)
{
	const bool brief = !mount_options(s->mount)->data.ttl;
	bool good = keep && !p->retired && !p->noticed;
	bool alone = (!p->opens && !reading) || (p->writers && !p->retired);
	int r = 0;
	*ret = (struct page_coherence_opened){.keep = true};
	if (!p->begun) {
		begin_anew(p);
	} else if (!good && alone) {
		begin_anew(p);
		ret->keep = false;
	} else if (!good) {
		r = admit_beside(s, p, brief, &ret->since);
	}
	p->opens += r == 0;
	return r;
}

int
page_coherence_open(struct server *s, struct inode *i, const struct file *f, bool keep,
	pid_t opener, struct page_coherence_opened *ret)
{
	struct page_coherence *p = page_coherence_of(i);
	bool reading = queue_reads(s->queue, i, 0);
	int r = 0;
	if (!p)
		return err_set(-ENOMEM, "no memory for an open file");
	askers_note(&p->askers, opener);
	LOCKED(&s->invalidator->lock) {
		bool young = keep && !too_old(s, p) && file_noticed(f) < atomic_load(&p->since);
		r = admit(s, p, young, reading, ret);
		p->writers += r == 0 && file_is_writable(f);
	}
	if (r == 0)
		return 0;
	inodes_retire(s->inodes, i);
	return err_set(r, "others are reading old pages");
}

void
page_coherence_close(struct server *s, struct inode *i, bool wrote)
{
	struct page_coherence *p = atomic_load(&i->pages);
	LOCKED(&s->invalidator->lock) {
		p->opens--;
		p->writers -= wrote;
	}
}

bool
page_coherence_are_written(struct server *s, const struct inode *i)
{
	const struct page_coherence *p = atomic_load(&i->pages);
	bool written = false;
	if (p)
		LOCKED(&s->invalidator->lock)
			written = p->writers;
	return written;
}

int64_t
page_coherence_since(const struct inode *i, int64_t own)
{
	const struct page_coherence *p = atomic_load_explicit(&i->pages, memory_order_acquire);
	const int64_t since = p ? atomic_load(&p->since) : 0;
	return own > since ? own : since;
}

void
page_coherence_dropped(const struct inode *i)
{
	struct page_coherence *p = atomic_load_explicit(&i->pages, memory_order_acquire);
	if (p)
		atomic_store(&p->dropped, clock_now());
}

int64_t
page_coherence_dropped_at(const struct inode *i)
{
	const struct page_coherence *p = atomic_load_explicit(&i->pages, memory_order_acquire);
	int64_t dropped = p ? atomic_load(&p->dropped) : 0, changed = atomic_load(&i->changed);
	return dropped > changed ? dropped : changed;
}

void
page_coherence_read(struct inode *i, pid_t reader, bool whole)
{
	struct page_coherence *p = atomic_load_explicit(&i->pages, memory_order_acquire);
	/* a thread that waits for a page of a mapping cannot begin a read() behind that */
	if (!p || (atomic_load(&p->asking) && askers_faults(&p->askers, reader)))
		return;
	askers_note(&p->askers, reader);
	if (!whole)
		atomic_store(&p->read, clock_now());
}

/* --- beginning anew --- */

void
page_coherence_retire(struct server *s, struct inode *i)
{
	struct page_coherence *p = atomic_load(&i->pages);
	if (p)
		LOCKED(&s->invalidator->lock)
			p->retired = true;
	inodes_retire(s->inodes, i);
}

/* To be renewed, if a handle of it is open. The lock is held. True: the list has a reference to the
 * inode from now on. */
static bool
enlist(struct invalidator *n, struct page_coherence *p)
{
	if (!p->opens || p->listed)
		return false;
	p->listed = true;
	p->try_at = p->tries = 0;
	p->next = n->first;
	n->first = p;
	pthread_cond_signal(&n->more);
	return true;
}

bool
page_coherence_changed(struct server *s, struct inode *i)
{
	struct invalidator *n = s->invalidator;
	struct page_coherence *p = atomic_load(&i->pages);
	bool open = false, listed = false, retired = false;
	if (!p)
		return false;
	inodes_get(s->inodes, inodes_id(s->inodes, i)); /* the list's, unless it is in it */
	LOCKED(&n->lock) {
		open = p->opens;
		retired = open && !p->writers;
		p->noticed_last = clock_now();
		p->noticed = p->noticed ? p->noticed : p->noticed_last;
		p->retired |= retired;
		listed = enlist(n, p);
	}
	if (!listed)
		inodes_put(s->inodes, i);
	if (retired)
		inodes_retire(s->inodes, p->inode);
	return open;
}

void
page_coherence_aged(struct server *s, struct inode *i)
{
	struct invalidator *n = s->invalidator;
	struct page_coherence *p = atomic_load(&i->pages);
	bool listed = false;
	if (!p)
		return;
	inodes_get(s->inodes, inodes_id(s->inodes, i));
	LOCKED(&n->lock)
		listed = clock_now() - atomic_load(&p->read) > ASKERS_QUIET && enlist(n, p);
	if (!listed)
		inodes_put(s->inodes, i);
}

/* May all handles of it see what there is at m->to from now on? */
static bool
may_move(struct invalidator *n, struct page_coherence *p, const struct array_move *m)
{
	struct handle *h[READERS];
	bool may = true;
	size_t count = handles_of(&n->server->handles, p->inode, h, READERS);
	for (size_t k = 0; k < count; k++) {
		may = may && open_file_move(h[k], m);
		handle_unref(h[k]);
	}
	return may;
}

static bool
ending(struct invalidator *n)
{
	bool end = false;
	LOCKED(&n->lock)
		end = n->end;
	return end;
}

/* The kernel has dropped the pages. */
static bool
wait_for_quiet(struct invalidator *n, struct page_coherence *p)
{
	const int64_t quiet = askers_quiet(), until = clock_now() + PARKED_MOST * quiet;
	int64_t looked = -1;
	struct askers_look look;
	for (int64_t now = 0; now < until && !ending(n); now = clock_now()) {
		const bool asked = queue_reads(n->server->queue, p->inode, 0);
		const int64_t read = atomic_load(&p->read);
		if (!asked && read != looked) {
			askers_look(&p->askers, &look);
			looked = read;
		} else if (!asked && now - read > quiet && askers_are_out(&p->askers, &look)) {
			return true;
		}
		nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY}, NULL);
	}
	return false;
}

static void
park(struct invalidator *n, struct page_coherence *p, bool on)
{
	LOCKED(&n->lock) {
		atomic_store(&p->parked, on);
		atomic_store(&p->asking, false);
		pthread_cond_broadcast(&n->unparked);
	}
}

/* True: nothing was noticed since m->to that its readers have not seen. */
static bool
move(struct invalidator *n, struct page_coherence *p, const struct array_move *m)
{
	bool done = false;
	askers_forget(&p->askers); /* before since is another, see page_coherence_wait */
	LOCKED(&n->lock) {
		atomic_store(&p->since, m->to);
		p->begun = m->to;
		done = p->noticed_last <= m->to;
		p->noticed = done ? 0 : p->noticed_last;
	}
	notifier_drop(n->server->notifier, p->inode);
	return done;
}

/* 0: the inode has begun anew, or need not, or no handle of it is open any more; else when to try
 * again. */
static int64_t
renew(struct invalidator *n, struct page_coherence *p)
{
	struct server *s = n->server;
	struct array_move m = {.since = atomic_load(&p->since), .to = clock_now()};
	bool open = false, done = false;
	LOCKED(&n->lock) {
		open = p->opens;
		m.noticed = p->noticed;
	}
	if (!open)
		return 0;
	if (!may_move(n, p, &m))
		return m.noticed ? m.to + AGAIN_ORDER : 0;
	if (queue_reads(s->queue, p->inode, HANGING))
		return m.noticed ? m.to + AGAIN_BUSY : 0;
	park(n, p, true);
	notifier_drop(s->notifier, p->inode); /* from here on a read() that is under way is seen */
	notifier_forget(s->notifier, p->inode);
	askers_doubt(&p->askers);
	atomic_store(&p->asking, true);
	bool quiet = wait_for_quiet(n, p) || ++p->tries >= TRIES;
	m.to = clock_now();
	if (quiet && may_move(n, p, &m)) {
		done = move(n, p, &m);
		p->tries = 0;
	}
	park(n, p, false);
	log_debug("'%s' begins anew: %s", p->inode->path, done ? "now" : "later");
	return done || !m.noticed ? 0 : clock_now() + (quiet ? AGAIN_ORDER : AGAIN_BUSY);
}

/* The next one to be tried. NULL: the end has come. */
static struct page_coherence *
next_due(struct invalidator *n)
{
	LOCKED(&n->lock) {
		while (!n->end) {
			int64_t now = clock_now();
			for (struct page_coherence *p = n->first; p; p = p->next) {
				if (p->try_at <= now)
					return p;
			}
			int64_t until = now + AGAIN_ORDER / 4;
			struct timespec t = {until / SECOND, until % SECOND};
			if (n->first)
				pthread_cond_timedwait(&n->more, &n->lock, &t);
			else
				pthread_cond_wait(&n->more, &n->lock);
		}
	}
	return NULL;
}

static void
delist(struct invalidator *n, struct page_coherence *p)
{
	struct page_coherence **at = &n->first;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->listed = false;
}

static void *
run(void *arg)
{
	struct invalidator *n = arg;
	for (struct page_coherence *p; (p = next_due(n));) {
		struct inode *i = p->inode;
		int64_t again = renew(n, p);
		LOCKED(&n->lock) {
			if (!again && p->noticed && p->opens)
				again = clock_now(); /* a change was noticed in between */
			p->try_at = again;
			if (!again)
				delist(n, p);
		}
		if (!again)
			inodes_put(n->server->inodes, i);
	}
	return NULL;
}

static void
wait_unparked(struct invalidator *n, struct page_coherence *p, struct request *r)
{
	int64_t until = clock_now() + ASKERS_BUSIEST * PARKED_MOST * ASKERS_QUIET;
	struct timespec t = {until / SECOND, until % SECOND};
	LOCKED(&n->lock) {
		int e = 0;
		while (atomic_load(&p->parked) && !e && !cancelled(&r->cancel))
			e = pthread_cond_timedwait(&n->unparked, &n->lock, &t);
	}
}

/* A thread that is forgotten meanwhile, as the inode begins anew, is noted once more. */
void
page_coherence_wait(struct request *r)
{
	struct page_coherence *p = atomic_load(&r->inode->pages);
	for (int64_t since = -1; p && since != atomic_load(&p->since);) {
		since = atomic_load(&p->since);
		askers_note(&p->askers, r->pid);
		if (atomic_load(&p->parked))
			wait_unparked(r->server->invalidator, p, r);
	}
}

int
invalidator_new(struct server *s, struct invalidator **ret)
{
	struct invalidator *n = calloc(1, sizeof *n);
	if (!n)
		return err_set(-ENOMEM, "no memory for a mount");
	n->server = s;
	pthread_mutex_init(&n->lock, NULL);
	clock_cond_init(&n->more);
	clock_cond_init(&n->unparked);
	int e = pthread_create(&n->thread, NULL, run, n);
	if (e) {
		free(n);
		return err_sys(e, "cannot start a thread");
	}
	*ret = n;
	return 0;
}

void
invalidator_end(struct invalidator *n)
{
	if (!n || ending(n))
		return;
	LOCKED(&n->lock) {
		n->end = true;
		pthread_cond_broadcast(&n->more);
	}
	pthread_join(n->thread, NULL);
}

struct invalidator *
invalidator_free(struct invalidator *n)
{
	if (!n)
		return NULL;
	invalidator_end(n);
	while (n->first) {
		struct page_coherence *p = n->first;
		n->first = p->next;
		inodes_put(n->server->inodes, p->inode);
	}
	pthread_cond_destroy(&n->more);
	pthread_cond_destroy(&n->unparked);
	pthread_mutex_destroy(&n->lock);
	free(n);
	return NULL;
}
