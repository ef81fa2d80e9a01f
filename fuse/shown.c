#include "fuse/shown.h"

#include "fuse/inode.h"

#include "base/check.h"
#include "base/clean.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 256 };

struct page {
	uint64_t number;
	size_t len;
	uint8_t *bytes; /* NULL: none here */
};

struct shown {
	pthread_mutex_t lock; /* guards page */
	struct page page[PAGES];
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
		found = p->bytes && p->number == off / SHOWN_PAGE && p->len >= len;
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
	p->len = len;
	if (p->bytes)
		memcpy(p->bytes, bytes, len);
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
shown_lay(struct inode *i, uint64_t off, struct span b)
{
	struct shown *s = shown_of(i);
	if (!s)
		return;
	LOCKED(&s->lock)
		for (size_t at = 0, n; at < b.len; at += n) {
			size_t in = (off + at) % SHOWN_PAGE;
			n = min_u64(SHOWN_PAGE - in, b.len - at);
			struct page *p = place(s, (off + at) / SHOWN_PAGE);
			if (!p->bytes || p->number != (off + at) / SHOWN_PAGE)
				continue;
			if (in + n > p->len)
				drop(p);
			else
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
