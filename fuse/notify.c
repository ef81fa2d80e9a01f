#include "fuse/notify.h"

#include "fuse/server.h"
#include "fuse/shown.h"

#include "base/err.h"
#include "base/log.h"
#include "base/path.h"

#include <errno.h>
#include <string.h>

struct notifier {
	struct server *server;
	struct fuse_session *se;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t idle;
	unsigned telling;
	bool stopped;
};

/* Inodes of one path that the kernel may know at once; older ones are about to be forgotten. */
enum { LAYOUTS = 256 };
/* The same of a question about names (ms). */
enum { ASKING = 100 };

/* ns. The program that asked for attributes takes them in by itself, when it runs again: that is
 * how long it is given. */
static const int64_t ARRIVES = SECOND / 100;

/* Answers that were given before the kernel is told reach the program first; those about another
 * size also the kernel's own record. */
static void
let_arrive(struct inode *i)
{
	enum { TRIES = 100 };
	const struct timespec moment = {.tv_nsec = SECOND / 1000};
	for (unsigned n = 0; n < TRIES && atomic_load(&i->answering); n++)
		nanosleep(&moment, NULL);
	int64_t rest = atomic_load(&i->resized) + ARRIVES - clock_now();
	if (rest > 0)
		nanosleep(&(struct timespec){.tv_nsec = rest}, NULL);
}

/* off -1: attributes; else also pages, len bytes of them, 0: all from there on. Of an answer that
 * is under way the kernel takes no attributes, though the program that asked is given them: answers
 * from now on do not change the size. */
static int
tell(struct notifier *n, struct inode *i, off_t off, off_t len)
{
	atomic_fetch_add(&i->told, 1);
	let_arrive(i);
	int r = fuse_lowlevel_notify_inval_inode(n->se, inodes_id(n->server->inodes, i), off, len);
	atomic_fetch_add(&i->heard, 1);
	return r;
}

static int
forget(struct notifier *n, struct inode *i)
{
	return tell(n, i, -1, 0);
}

/* Those that were filled when this stamp was had are not there any more, or the mount is. */
static int
drop_run(struct notifier *n, struct inode *i, uint64_t off, uint64_t len, uint64_t stamp)
{
	const bool noted = shown_drop_begin(i, off, len ? len : UINT64_MAX);
	page_coherence_dropped(i);
	int r = tell(n, i, (off_t)off, (off_t)len);
	page_coherence_dropped(i); /* with them those of reads that began in between */
	shown_dropped(i, off, len ? len : UINT64_MAX, stamp);
	if (noted)
		shown_drop_end(i);
	return r;
}

static void
drop_pages(struct notifier *n, struct inode *i)
{
	int r = drop_run(n, i, 0, 0, shown_stamp(i));
	log_debug("pages of '%s' are stale: %d", i->path, r);
}

/* The kernel would wait for a read that hangs, and umount for the kernel. So those pages are
 * dropped when the read has ended, and an open() meanwhile gets an inode without pages. */
static void
drop_pages_later(struct notifier *n, struct inode *i)
{
	atomic_store(&i->owed, true);
	page_coherence_retire(n->server, i);
	forget(n, i);
}

/* The kernel keeps its pages from being written back until a change of the size is answered, which
 * waits for what is told here. It drops them itself then, and once more when that was answered. */
static bool
is_resized(struct notifier *n, struct inode *i)
{
	if (!atomic_load(&i->resizing))
		return false;
	atomic_store(&i->owed, true);
	if (!atomic_load(
		    &i->resizing)) /* it was answered just now, and the debt looked for before */
		return false;
	forget(n, i);
	return true;
}

static void
tell_inodes(struct notifier *n, const char *path, enum stale_what what, int64_t pushed)
{
	struct server *s = n->server;
	struct inode *inode[LAYOUTS];
	size_t count = inodes_of_path(s->inodes, path, inode, LAYOUTS);
	for (size_t i = 0; i < count; i++) {
		if (what == STALE_RETIRED && inode[i]->born <= pushed) {
			page_coherence_retire(s, inode[i]);
			inodes_end(s->inodes, inode[i]);
		}
		if (what == STALE_WRITTEN && page_coherence_are_written(s, inode[i])) {
			inodes_put(s->inodes, inode[i]);
			continue;
		}
		if (what == STALE_ATTRIBUTES || what == STALE_NAME || what == STALE_RETIRED ||
			(what == STALE_CHUNK && page_coherence_changed(s, inode[i])))
			forget(n, inode[i]);
		else if (is_resized(n, inode[i]))
			;
		else if (queue_reads(s->queue, inode[i], HANGING))
			drop_pages_later(n, inode[i]);
		else
			drop_pages(n, inode[i]);
		if (what == STALE_PAGES)
			page_coherence_aged(s, inode[i]);
		inodes_put(s->inodes, inode[i]);
	}
}

/* The name, too: it may lead to another layout now, to nothing, or to something after nothing. The
 * kernel takes the directory for itself to do this, and would keep all programs out while a
 * question about it hangs: then the name is left to run out. */
static void
tell_name(struct notifier *n, const char *path)
{
	struct inodes *t = n->server->inodes;
	struct inode *dir;
	const char *name = path_name(path);
	CLEAN(clean_free) char *parent = path_above(path);
	if (!*path || !parent || queue_asks_in(n->server->queue, parent, ASKING * (SECOND / 1000)))
		return;
	if (!inodes_of_path(t, parent, &dir, 1))
		return;
	fuse_lowlevel_notify_inval_entry(n->se, inodes_id(t, dir), name, strlen(name));
	inodes_put(t, dir);
}

/* false: the session is ending. */
static bool
begin(struct notifier *n)
{
	bool on = false;
	LOCKED(&n->lock) {
		on = !n->stopped;
		n->telling += on;
	}
	return on;
}

static void
end(struct notifier *n)
{
	LOCKED(&n->lock) {
		n->telling--;
		pthread_cond_broadcast(&n->idle);
	}
}

static void
stale(void *arg, const char *path, enum stale_what what, int64_t pushed)
{
	struct notifier *n = arg;
	if (!begin(n))
		return;
	tell_inodes(n, path, what, pushed);
	if (what != STALE_ATTRIBUTES && what != STALE_WRITTEN)
		tell_name(n, path);
	end(n);
}

void
notifier_forget(struct notifier *n, struct inode *i)
{
	if (!begin(n))
		return;
	forget(n, i);
	end(n);
}

void
notifier_drop(struct notifier *n, struct inode *i)
{
	if (!begin(n))
		return;
	drop_pages(n, i);
	end(n);
}

bool
notifier_drop_run(struct notifier *n, struct inode *i, uint64_t off, uint64_t len, uint64_t stamp)
{
	if (!begin(n))
		return false;
	drop_run(n, i, off, len, stamp);
	end(n);
	return true;
}

void
notifier_pay(struct notifier *n, struct inode *i)
{
	if (!atomic_load(&i->owed) || queue_reads(n->server->queue, i, 0))
		return;
	if (!atomic_exchange(&i->owed, false) || !begin(n))
		return;
	drop_pages(n, i);
	end(n);
}

int
notifier_new(struct server *s, struct fuse_session *se, struct notifier **ret)
{
	struct notifier *n = calloc(1, sizeof *n);
	if (!n)
		return err_set(-ENOMEM, "no memory for a mount");
	n->server = s;
	n->se = se;
	pthread_mutex_init(&n->lock, NULL);
	clock_cond_init(&n->idle);
	s->notifier = n;
	mount_on_stale(s->mount, stale, n);
	*ret = n;
	return 0;
}

bool
notifier_end(struct notifier *n, int64_t until)
{
	const struct timespec t = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND};
	bool idle = false;
	LOCKED(&n->lock) {
		n->stopped = true;
		while (n->telling && !clock_over(until))
			pthread_cond_timedwait(&n->idle, &n->lock, &t);
		idle = !n->telling;
	}
	return idle;
}

void
notifier_stop(struct notifier *n)
{
	while (!notifier_end(n, clock_now() + SECOND))
		;
}

struct notifier *
notifier_free(struct notifier *n)
{
	if (n) {
		pthread_cond_destroy(&n->idle);
		pthread_mutex_destroy(&n->lock);
	}
	free(n);
	return NULL;
}
