#include "fuse/shown_impl.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Parts of the limit: what goes when there is more; what it changes by until it is said how much
 * there is. */
enum { DROP_PART = 8, SAY_PART = 16 };

/* --- all pages --- */

int
shown_pages_new(size_t limit, shown_held *held, void *arg, struct shown_pages **ret)
{
	struct shown_pages *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(-ENOMEM, "no memory for a mount");
	t->limit = limit;
	t->held = held;
	t->arg = arg;
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->saying, NULL);
	pthread_cond_init(&t->due, NULL);
	clock_cond_init(&t->settled);
	*ret = t;
	return 0;
}

struct shown_pages *
shown_pages_free(struct shown_pages *t)
{
	if (t) {
		pthread_cond_destroy(&t->due);
		pthread_cond_destroy(&t->settled);
		pthread_mutex_destroy(&t->saying);
		pthread_mutex_destroy(&t->lock);
	}
	free(t);
	return NULL;
}

static size_t
bytes_now(struct shown_pages *t)
{
	size_t bytes = 0;
	LOCKED(&t->lock)
		bytes = t->bytes;
	return bytes;
}

void
shown_say_held(struct shown_pages *t)
{
	const size_t step = t->limit / SAY_PART + 1;
	LOCKED(&t->saying) {
		const size_t bytes = round_up(bytes_now(t), step);
		if (t->held && (bytes > t->said || bytes + step < t->said || bytes < step)) {
			if (bytes != t->said)
				t->held(t->arg, bytes);
			t->said = bytes;
		}
	}
}

bool
shown_pages_wait(struct shown_pages *t)
{
	bool on = false;
	LOCKED(&t->lock) {
		while (t->bytes <= t->limit && !t->doubts && !t->ended)
			pthread_cond_wait(&t->due, &t->lock);
		on = !t->ended;
	}
	return on;
}

void
shown_pages_end(struct shown_pages *t)
{
	LOCKED(&t->lock) {
		t->ended = true;
		pthread_cond_broadcast(&t->due);
	}
}

/* The lock is held, as in the next two. A page of the file, and so many at most. false: no memory.
 */
static bool
choose(struct shown_pages *t, struct inodes *inodes, const struct page *p, size_t most,
	struct shown_due *ret)
{
	if (!most || !(ret->number = calloc(most, sizeof *ret->number)))
		return false;
	/* a handle is open that holds it */
	ret->inode = inodes_get(inodes, inodes_id(inodes, p->of->inode));
	ret->stamp = t->stamp;
	return true;
}

static void
choose_doubts(struct shown_pages *t, struct inodes *inodes, struct shown_due *ret)
{
	size_t most = 0;
	for (const struct doubt *d = t->doubts; d; d = d->behind)
		most += d->of->of == t->doubts->of->of;
	if (!choose(t, inodes, t->doubts->of, most, ret))
		return;
	for (const struct doubt *d = t->doubts; d; d = d->behind)
		if (d->of->of->inode == ret->inode)
			ret->number[ret->count++] = d->of->number;
}

static void
choose_oldest(struct shown_pages *t, struct inodes *inodes, struct shown_due *ret)
{
	const size_t least = t->limit - t->limit / DROP_PART;
	size_t left = t->bytes > least ? (t->bytes - least) / sizeof(struct page) + 1 : 0;
	const struct page *p = t->oldest;
	if (!p || !choose(t, inodes, p, left, ret))
		return;
	for (; p && left; p = p->newer, left--)
		if (p->of->inode == ret->inode)
			ret->number[ret->count++] = p->number;
}

size_t
shown_pages_due(struct shown_pages *t, struct inodes *inodes, struct shown_due *ret)
{
	*ret = (struct shown_due){0};
	LOCKED(&t->lock) {
		if (t->doubts)
			choose_doubts(t, inodes, ret);
		else
			choose_oldest(t, inodes, ret);
	}
	return ret->count;
}

/* --- pages of a file --- */

/* The lock is held, as in all up to shown_find. */
struct page *
shown_page(struct shown *s, uint64_t number)
{
	for (struct map_entry *e = map_first(&s->pages, hash_end(number)); e; e = map_next(e)) {
		struct page *p = MAP_OF(e, struct page, by_number);
		if (p->number == number)
			return p;
	}
	return NULL;
}

static void
unlink_page(struct shown_pages *t, struct page *p)
{
	*(p->older ? &p->older->newer : &t->oldest) = p->newer;
	*(p->newer ? &p->newer->older : &t->newest) = p->older;
}

static void
link_newest(struct shown_pages *t, struct page *p)
{
	p->newer = NULL;
	p->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = p;
	t->newest = p;
}

static void
end_doubt(struct page *p)
{
	struct doubt *d = p->doubt;
	if (!d)
		return;
	*(d->before ? &d->before->behind : &p->of->all->doubts) = d->behind;
	if (d->behind)
		d->behind->before = d->before;
	p->doubt = NULL;
	p->of->all->bytes -= sizeof *d;
	arena_put(d, sizeof *d);
	pthread_cond_broadcast(&p->of->all->settled);
}

static void
drop(struct page *p)
{
	struct shown *s = p->of;
	map_remove(&s->pages, &p->by_number);
	end_doubt(p);
	unlink_page(s->all, p);
	s->all->bytes -= sizeof *p;
	arena_put(p, sizeof *p);
}

/* A page of which nothing is known. NULL: no memory. */
static struct page *
add(struct shown *s, uint64_t number)
{
	struct page *p = arena_get(sizeof *p, true);
	if (!p)
		return NULL;
	p->of = s;
	p->number = number;
	p->doubt = NULL;
	map_add(&s->pages, &p->by_number, hash_end(number));
	link_newest(s->all, p);
	s->all->bytes += sizeof *p;
	if (s->all->bytes > s->all->limit)
		pthread_cond_signal(&s->all->due);
	return p;
}

bool
shown_doubt(struct page *p)
{
	struct shown_pages *t = p->of->all;
	struct doubt *d = p->doubt ? NULL : arena_get(sizeof *d, true);
	if (!d)
		return p->doubt;
	*d = (struct doubt){.behind = t->doubts, .of = p};
	memcpy(d->bytes, p->bytes, SHOWN_PAGE);
	if (t->doubts)
		t->doubts->before = d;
	t->doubts = p->doubt = d;
	t->bytes += sizeof *d;
	pthread_cond_signal(&t->due);
	return true;
}

void
shown_set(struct shown *s, uint64_t number, struct span b, enum shown_how how)
{
	struct page *p = shown_page(s, number);
	const bool known = p;
	if (!p && !(p = add(s, number)))
		return;
	if (how != SHOWN_NOTED || !known) {
		p->filled = ++s->all->stamp;
		p->asked = how == SHOWN_MADE ? 0 : p->filled;
	}
	if (how != SHOWN_NOTED)
		end_doubt(p);
	if (b.len)
		memcpy(p->bytes, b.data, b.len);
	memset(p->bytes + b.len, 0, SHOWN_PAGE - b.len);
	if (p->doubt) /* it is known now, and yet to be dropped */
		memcpy(p->doubt->bytes, p->bytes, SHOWN_PAGE);
	unlink_page(s->all, p);
	link_newest(s->all, p);
}

/* Those that were filled by then. */
static void
forget(struct shown *s, uint64_t off, uint64_t len, uint64_t stamp)
{
	const uint64_t first = off / SHOWN_PAGE, last = !len ? 0
							: off > UINT64_MAX - len
								? UINT64_MAX / SHOWN_PAGE
								: (off + len - 1) / SHOWN_PAGE;
	if (!s->pages.n || !len)
		return;
	if (last - first < s->pages.n) {
		for (uint64_t n = first; n <= last; n++) {
			struct page *p = shown_page(s, n);
			if (p && p->filled <= stamp)
				drop(p);
		}
		return;
	}
	for (struct map_entry *e = map_walk(&s->pages, NULL), *next; e; e = next) {
		struct page *p = MAP_OF(e, struct page, by_number);
		next = map_walk(&s->pages, e);
		if (p->number >= first && p->number <= last && p->filled <= stamp)
			drop(p);
	}
}

struct shown *
shown_free(struct shown *s)
{
	if (s) {
		map_done(&s->pages);
		pthread_mutex_destroy(&s->lock);
	}
	free(s);
	return NULL;
}

bool
shown_begun(const struct inode *i)
{
	const struct shown *s = shown_of(i);
	return s && atomic_load_explicit(&s->writers, memory_order_relaxed);
}

int
shown_begin(struct shown_pages *t, struct inode *i, bool *ret_first)
{
	struct shown *s = shown_of(i), *none = NULL;
	if (!s) {
		s = calloc(1, sizeof *s);
		if (!s)
			return err_set(-ENOMEM, "no memory for an open file");
		s->all = t;
		s->inode = i;
		pthread_mutex_init(&s->lock, NULL);
		if (!atomic_compare_exchange_strong(&i->shown, &none, s)) {
			shown_free(s);
			s = none;
		}
	}
	LOCKED(&t->lock) {
		*ret_first = !atomic_fetch_add(&s->writers, 1) || shown_opens(s);
		s->drops.begun = s->drops.begun ? s->drops.begun : clock_now();
	}
	return 0;
}

void
shown_end(struct inode *i)
{
	struct shown *s = shown_of(i);
	LOCKED(&s->all->lock)
		if (atomic_fetch_sub(&s->writers, 1) == 1)
			forget(s, 0, UINT64_MAX, UINT64_MAX);
	shown_say_held(s->all);
}

bool
shown_find(const struct inode *i, uint64_t off, struct span now, uint8_t *ret)
{
	struct shown *s = shown_of(i);
	const struct page *p = NULL;
	if (!s)
		return false;
	LOCKED(&s->all->lock) {
		p = shown_page(s, off / SHOWN_PAGE);
		if (p)
			memcpy(ret, p->bytes, now.len);
		for (size_t at = 0; p && p->doubt && at < now.len; at++)
			if (now.data[at] == p->doubt->bytes[at])
				ret[at] = now.data[at];
	}
	return p;
}

/* The lock is held. len: of what these are the first bytes, the rest is zeros. */
static void
note(struct shown *s, uint64_t off, struct span b, size_t len, enum shown_how how)
{
	for (size_t at = 0; at < len && atomic_load(&s->writers); at += SHOWN_PAGE) {
		const size_t n = at < b.len ? min_u64(SHOWN_PAGE, b.len - at) : 0;
		const struct span some = {n ? b.data + at : NULL, n};
		shown_set(s, (off + at) / SHOWN_PAGE, some, how);
	}
}

void
shown_note(struct inode *i, uint64_t off, struct span b)
{
	struct shown *s = shown_of(i);
	if (!s || off % SHOWN_PAGE) {
		shown_forget(i, off, b.len);
		return;
	}
	LOCKED(&s->all->lock)
		note(s, off, b, b.len, SHOWN_NOTED);
	shown_say_held(s->all);
}

bool
shown_fill(struct inode *i, uint64_t off, struct span b, size_t len, int64_t begun)
{
	struct shown *s = shown_of(i);
	bool old = false;
	if (!s || off % SHOWN_PAGE) {
		shown_forget(i, off, len);
		return true;
	}
	LOCKED(&s->all->lock) {
		old = shown_laid_since(s, off, len, begun);
		if (!old)
			note(s, off, b, len, SHOWN_ASKED);
	}
	shown_say_held(s->all);
	return !old;
}

void
shown_forget(struct inode *i, uint64_t off, uint64_t len)
{
	shown_dropped(i, off, len, UINT64_MAX);
}

uint64_t
shown_stamp(const struct inode *i)
{
	const struct shown *s = shown_of(i);
	uint64_t stamp = 0;
	if (s)
		LOCKED(&s->all->lock)
			stamp = s->all->stamp;
	return stamp;
}

void
shown_dropped(struct inode *i, uint64_t off, uint64_t len, uint64_t stamp)
{
	struct shown *s = shown_of(i);
	if (s)
		LOCKED(&s->all->lock)
			forget(s, off, len, stamp);
}
