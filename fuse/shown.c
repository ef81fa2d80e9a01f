#include "fuse/shown_impl.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/hash.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 64 /* at first */ };
/* Parts of the limit: what goes when there is more; what it changes by until it is said how much
 * there is. */
enum { DROP_PART = 8, SAY_PART = 16 };

struct page {
	struct page *next;          /* in its bucket */
	struct page *older, *newer; /* of all files */
	struct shown *of;
	uint64_t number;
	uint64_t filled;           /* the stamp of when the kernel was given it */
	uint8_t bytes[SHOWN_PAGE]; /* behind the end of the file zeros, as the kernel has it */
};

struct shown_pages {
	pthread_mutex_t lock; /* guards all up to ended */
	pthread_cond_t over;
	struct page *oldest, *newest;
	size_t bytes, limit;
	uint64_t stamp; /* goes up with each page that is filled */
	bool ended;
	pthread_mutex_t saying; /* guards said, and is held while it is said */
	size_t said;
	shown_held *held;
	void *arg;
};

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
	pthread_cond_init(&t->over, NULL);
	*ret = t;
	return 0;
}

struct shown_pages *
shown_pages_free(struct shown_pages *t)
{
	if (t) {
		pthread_cond_destroy(&t->over);
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

/* How many bytes there are, when that has changed much. No lock is held. */
static void
say_held(struct shown_pages *t)
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
shown_pages_over(struct shown_pages *t)
{
	bool on = false;
	LOCKED(&t->lock) {
		while (t->bytes <= t->limit && !t->ended)
			pthread_cond_wait(&t->over, &t->lock);
		on = !t->ended;
	}
	return on;
}

void
shown_pages_end(struct shown_pages *t)
{
	LOCKED(&t->lock) {
		t->ended = true;
		pthread_cond_broadcast(&t->over);
	}
}

size_t
shown_pages_oldest(struct shown_pages *t, struct inodes *inodes, struct shown_oldest *ret)
{
	const size_t least = t->limit - t->limit / DROP_PART;
	*ret = (struct shown_oldest){0};
	LOCKED(&t->lock) {
		size_t left = t->bytes > least ? (t->bytes - least) / sizeof(struct page) + 1 : 0;
		const struct page *p = t->oldest;
		if (!p || !left || !(ret->number = calloc(left, sizeof *ret->number)))
			return 0;
		/* a handle is open that holds it */
		ret->inode = inodes_get(inodes, inodes_id(inodes, p->of->inode));
		ret->stamp = t->stamp;
		for (; p && left; p = p->newer, left--)
			if (p->of->inode == ret->inode)
				ret->number[ret->count++] = p->number;
	}
	return ret->count;
}

/* --- pages of a file --- */

/* The lock is held, as in all up to shown_find. */
static struct page **
place(struct shown *s, uint64_t number)
{
	struct page **at = &s->bucket[hash_end(number) & (s->buckets - 1)];
	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

static struct page *
find(struct shown *s, uint64_t number)
{
	return s->buckets ? *place(s, number) : NULL;
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

/* at: what leads to it in its bucket. */
static void
drop(struct page **at)
{
	struct page *p = *at;
	struct shown *s = p->of;
	*at = p->next;
	unlink_page(s->all, p);
	s->count--;
	s->all->bytes -= sizeof *p;
	arena_put(p, sizeof *p);
}

/* Twice as many buckets; without memory they stay as they are, and become fuller. */
static bool
grow(struct shown *s)
{
	const size_t n = s->buckets ? s->buckets * 2 : BUCKETS, old = s->buckets;
	struct page **was = s->bucket, **now = calloc(n, sizeof(struct page *));
	if (!now)
		return was;
	s->bucket = now;
	s->buckets = n;
	for (size_t b = 0; b < old; b++)
		for (struct page *p = was[b], *next; p; p = next) {
			struct page **to = &now[hash_end(p->number) & (n - 1)];
			next = p->next;
			p->next = *to;
			*to = p;
		}
	free(was);
	return true;
}

/* A page of which nothing is known. NULL: no memory. */
static struct page *
add(struct shown *s, uint64_t number)
{
	if (s->count >= s->buckets && !grow(s))
		return NULL;
	struct page *p = arena_get(sizeof *p, true), **at = place(s, number);
	if (!p)
		return NULL;
	p->of = s;
	p->number = number;
	p->next = *at;
	*at = p;
	link_newest(s->all, p);
	s->count++;
	s->all->bytes += sizeof *p;
	if (s->all->bytes > s->all->limit)
		pthread_cond_signal(&s->all->over);
	return p;
}

/* What there is no memory for is not known. */
static void
set(struct shown *s, uint64_t number, const uint8_t *bytes, size_t len, bool filled)
{
	struct page *p = find(s, number);
	const bool known = p;
	if (!p && !(p = add(s, number)))
		return;
	if (filled || !known)
		p->filled = ++s->all->stamp;
	memcpy(p->bytes, bytes, len);
	memset(p->bytes + len, 0, SHOWN_PAGE - len);
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
	if (!s->count || !len)
		return;
	if (last - first < s->count) {
		for (uint64_t n = first; n <= last; n++) {
			struct page **at = place(s, n);
			if (*at && (*at)->filled <= stamp)
				drop(at);
		}
		return;
	}
	for (size_t b = 0; b < s->buckets; b++)
		for (struct page **at = &s->bucket[b]; *at;) {
			const struct page *p = *at;
			if (p->number < first || p->number > last || p->filled > stamp)
				at = &(*at)->next;
			else
				drop(at);
		}
}

struct shown *
shown_free(struct shown *s)
{
	if (s) {
		free(s->bucket);
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
	LOCKED(&t->lock)
		*ret_first = !atomic_fetch_add(&s->writers, 1);
	return 0;
}

void
shown_end(struct inode *i)
{
	struct shown *s = shown_of(i);
	LOCKED(&s->all->lock)
		if (atomic_fetch_sub(&s->writers, 1) == 1)
			forget(s, 0, UINT64_MAX, UINT64_MAX);
	say_held(s->all);
}

bool
shown_find(const struct inode *i, uint64_t off, size_t len, uint8_t *ret)
{
	struct shown *s = shown_of(i);
	const struct page *p = NULL;
	if (!s)
		return false;
	LOCKED(&s->all->lock) {
		p = find(s, off / SHOWN_PAGE);
		if (p)
			memcpy(ret, p->bytes, len);
	}
	return p;
}

static void
note(struct inode *i, uint64_t off, struct span b, bool filled)
{
	struct shown *s = shown_of(i);
	if (!s || off % SHOWN_PAGE) {
		shown_forget(i, off, b.len);
		return;
	}
	LOCKED(&s->all->lock)
		for (size_t at = 0; at < b.len && atomic_load(&s->writers); at += SHOWN_PAGE)
			set(s, (off + at) / SHOWN_PAGE, b.data + at,
				min_u64(SHOWN_PAGE, b.len - at), filled);
	say_held(s->all);
}

void
shown_note(struct inode *i, uint64_t off, struct span b)
{
	note(i, off, b, false);
}

void
shown_fill(struct inode *i, uint64_t off, struct span b)
{
	note(i, off, b, true);
}

void
shown_lay(struct inode *i, uint64_t off, struct span b, int64_t begun)
{
	struct shown *s = shown_of(i);
	if (!s)
		return;
	shown_filled(i, off, b.len, begun);
	LOCKED(&s->all->lock)
		for (size_t at = 0, n; at < b.len; at += n) {
			size_t in = (off + at) % SHOWN_PAGE;
			n = min_u64(SHOWN_PAGE - in, b.len - at);
			struct page *p = find(s, (off + at) / SHOWN_PAGE);
			if (n == SHOWN_PAGE && atomic_load(&s->writers)) /* perhaps once more */
				set(s, (off + at) / SHOWN_PAGE, b.data + at, n, true);
			else if (p)
				memcpy(p->bytes + in, b.data + at, n);
		}
	say_held(s->all);
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
