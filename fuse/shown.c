#include "fuse/shown.h"

#include "fuse/inode.h"

#include "base/check.h"
#include "base/clean.h"
#include "base/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 256, PASSES = 64 };

struct page {
	uint64_t number;
	uint8_t *
		bytes; /* behind the end of the file zeros, as the kernel has it; NULL: none here */
};

/* What a write() past the pages has put there. */
struct pass {
	uint64_t from, to; /* alike: none */
	uint64_t number;
	int64_t ended; /* clock_now(); 0: it is under way */
};

struct shown {
	pthread_mutex_t lock; /* guards all below */
	struct page page[PAGES];
	struct pass pass[PASSES];
	uint64_t passes; /* so far */
};

struct shown *
shown_free(struct shown *s)
{
	for (unsigned i = 0; s && i < PAGES; i++)
		free(s->page[i].bytes);
	if (s)
		pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

static struct shown *
shown_of(const struct inode *i)
{
	return atomic_load_explicit(&i->shown, memory_order_acquire);
}

bool
shown_begun(const struct inode *i)
{
	return shown_of(i);
}

void
shown_begin(struct inode *i)
{
	struct shown *s = shown_of(i) ? NULL : calloc(1, sizeof *s), *none = NULL;
	if (!s)
		return;
	pthread_mutex_init(&s->lock, NULL);
	if (!atomic_compare_exchange_strong(&i->shown, &none, s))
		shown_free(s);
}

static struct page *
place(struct shown *s, uint64_t number)
{
	return &s->page[number % PAGES];
}

static void
drop(struct page *p)
{
	free(p->bytes);
	p->bytes = NULL;
}

bool
shown_find(const struct inode *i, uint64_t off, size_t len, uint8_t *ret)
{
	struct shown *s = shown_of(i);
	bool found = false;
	if (!s)
		return false;
	LOCKED(&s->lock) {
		const struct page *p = place(s, off / SHOWN_PAGE);
		found = p->bytes && p->number == off / SHOWN_PAGE;
		if (found)
			memcpy(ret, p->bytes, len);
	}
	return found;
}

/* What there is no memory for is not known. The lock is held. */
static void
set(struct page *p, uint64_t number, const uint8_t *bytes, size_t len)
{
	if (!p->bytes)
		p->bytes = malloc(SHOWN_PAGE);
	p->number = number;
	if (!p->bytes)
		return;
	memcpy(p->bytes, bytes, len);
	memset(p->bytes + len, 0, SHOWN_PAGE - len);
}

void
shown_note(struct inode *i, uint64_t off, struct span b)
{
	struct shown *s = shown_of(i);
	if (!s || off % SHOWN_PAGE || b.len > SHOWN_PAGE * PAGES) {
		shown_forget(i, off, b.len);
		return;
	}
	LOCKED(&s->lock)
		for (size_t at = 0; at < b.len; at += SHOWN_PAGE) {
			uint64_t number = (off + at) / SHOWN_PAGE;
			set(place(s, number), number, b.data + at, min_u64(SHOWN_PAGE, b.len - at));
		}
}

void
shown_lay(struct inode *i, uint64_t off, struct span b, int64_t begun)
{
	struct shown *s = shown_of(i);
	if (!s)
		return;
	shown_filled(i, off, b.len, begun);
	LOCKED(&s->lock)
		for (size_t at = 0, n; at < b.len; at += n) {
			size_t in = (off + at) % SHOWN_PAGE;
			n = min_u64(SHOWN_PAGE - in, b.len - at);
			struct page *p = place(s, (off + at) / SHOWN_PAGE);
			if (p->bytes && p->number == (off + at) / SHOWN_PAGE)
				memcpy(p->bytes + in, b.data + at, n);
		}
}

void
shown_forget(struct inode *i, uint64_t off, uint64_t len)
{
	struct shown *s = shown_of(i);
	if (!s)
		return;
	LOCKED(&s->lock)
		for (unsigned k = 0; k < PAGES; k++) {
			struct page *p = &s->page[k];
			uint64_t at = p->number * SHOWN_PAGE;
			if (p->bytes && at + SHOWN_PAGE > off && (at < off || at - off < len))
				drop(p);
		}
}

/* --- writes past the pages --- */

/* Room for one more: of those that have ended the oldest goes first. */
static struct pass *
room(struct shown *s)
{
	struct pass *to = &s->pass[0];
	for (struct pass *p = s->pass; p < s->pass + PASSES; p++) {
		if (p->from == p->to)
			return p;
		if (!p->ended == !to->ended ? p->number < to->number : p->ended != 0)
			to = p;
	}
	return to;
}

uint64_t
shown_pass(struct inode *i, uint64_t off, size_t len)
{
	struct shown *s = shown_of(i);
	uint64_t number = 0;
	if (!s)
		return 0;
	LOCKED(&s->lock) {
		number = ++s->passes;
		*room(s) = (struct pass){off, off + len, number, 0};
	}
	return number;
}

void
shown_passed(struct inode *i, uint64_t number, bool put)
{
	struct shown *s = shown_of(i);
	if (!s)
		return;
	LOCKED(&s->lock)
		for (struct pass *p = s->pass; p < s->pass + PASSES; p++)
			if (p->number == number) {
				p->ended = clock_now();
				p->to = put ? p->to : p->from;
			}
}

void
shown_filled(struct inode *i, uint64_t off, uint64_t len, int64_t begun)
{
	struct shown *s = shown_of(i);
	const uint64_t end = off + len;
	if (!s)
		return;
	LOCKED(&s->lock)
		for (struct pass *p = s->pass; p < s->pass + PASSES; p++) {
			const struct pass was = *p;
			if (!was.ended || was.ended > begun || was.from >= end || was.to <= off)
				continue;
			p->to = max_u64(was.from, off); /* what is before … */
			if (was.from >= off)
				p->from = p->to = 0;
			if (was.to <= end)
				continue;
			struct pass *to = room(s); /* … and behind */
			*to = to == p && p->from != p->to
				      ? was
				      : (struct pass){end, was.to, was.number, was.ended};
		}
}

bool
shown_is_past(
	const struct inode *i, uint64_t off, uint64_t len, uint64_t *ret_from, uint64_t *ret_to)
{
	struct shown *s = shown_of(i);
	*ret_from = *ret_to = off + len;
	if (!s)
		return false;
	LOCKED(&s->lock)
		for (const struct pass *p = s->pass; p < s->pass + PASSES; p++) {
			const uint64_t from = max_u64(p->from, off), to = min_u64(p->to, off + len);
			if (from < to && from < *ret_from) {
				*ret_from = from;
				*ret_to = to;
			}
		}
	return *ret_from < off + len;
}
