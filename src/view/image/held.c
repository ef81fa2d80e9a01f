#include "view/image/held.h"

#include "base/check.h"
#include "base/err.h"
#include "base/list.h"

#include <errno.h>
#include <string.h>

enum { PAGE = 4096, WORD = 64, WORDS = PAGE / WORD };

struct held_page {
	uint64_t at;           /* number of the page */
	unsigned count;        /* bytes that were written */
	uint64_t bits[WORDS];  /* which */
	uint64_t other[WORDS]; /* those that were not what the writer had seen there */
	uint8_t data[PAGE];
};

void
held_free(struct held *o)
{
	LIST_FREE(o->page, o->pages);
	*o = (struct held){0};
}

size_t
held_bytes(const struct held *o)
{
	return o->pages * (sizeof(struct held_page) + sizeof *o->page);
}

/* Index of the first page that is not before number `at`. */
static size_t
find(const struct held *o, uint64_t at)
{
	size_t lo = 0, hi = o->pages;
	if (hi && o->page[hi - 1]->at < at)
		return hi; /* a writer in file order */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (o->page[mid]->at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The page of that number, made if there is none; NULL: no memory. */
static struct held_page *
page_at(struct held *o, uint64_t at)
{
	size_t i = find(o, at);
	if (i < o->pages && o->page[i]->at == at)
		return o->page[i];
	CLEAN(clean_free) struct held_page *p = calloc(1, sizeof *p);
	if (!p || LIST_INSERT(o->page, o->pages, i, "pages", p) < 0)
		return NULL;
	p->at = at;
	return MOVE(p);
}

/* Bits [from, to) of a word that lie within bits [0, WORD). */
static uint64_t
mask(unsigned from, unsigned to)
{
	uint64_t upper = to == WORD ? ~UINT64_C(0) : (UINT64_C(1) << to) - 1;
	return upper & ~((UINT64_C(1) << from) - 1);
}

/* Marks bytes [from, to) of the page as written, or as not. */
static void
mark(struct held_page *p, unsigned from, unsigned to, bool written)
{
	while (from < to) {
		unsigned w = from / WORD, end = (unsigned)min_u64(to, (uint64_t)(w + 1) * WORD);
		uint64_t m = mask(from % WORD, end - w * WORD), was = p->bits[w];
		p->bits[w] = written ? was | m : was & ~m;
		p->other[w] = written ? p->other[w] : p->other[w] & ~m;
		p->count += (unsigned)__builtin_popcountll(p->bits[w]);
		p->count -= (unsigned)__builtin_popcountll(was);
		from = end;
	}
}

/* The first byte from `from` on that has a bit (or has none); PAGE: none. */
static unsigned
next_bit(const uint64_t *all, unsigned from, bool set)
{
	while (from < PAGE) {
		unsigned w = from / WORD;
		uint64_t bits = (set ? all[w] : ~all[w]) & mask(from % WORD, WORD);
		if (bits)
			return w * WORD + (unsigned)__builtin_ctzll(bits);
		from = (w + 1) * WORD;
	}
	return PAGE;
}

static unsigned
next_in(const struct held_page *p, unsigned from, bool written)
{
	return next_bit(p->bits, from, written);
}

/* Which of n bytes from `in` on of the page are others than `was` has. */
static void
compare(struct held_page *p, unsigned in, const uint8_t *bytes, const uint8_t *was, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!was || bytes[i] != was[i])
			p->other[(in + i) / WORD] |= UINT64_C(1) << (in + i) % WORD;
}

int
held_put(struct held *o, uint64_t off, struct span bytes, const uint8_t *was)
{
	while (bytes.len) {
		unsigned in = (unsigned)(off % PAGE);
		size_t n = (size_t)min_u64(bytes.len, PAGE - in);
		struct held_page *p = page_at(o, off / PAGE);
		if (!p)
			return err_set(-ENOMEM, "no memory for what was written");
		memcpy(p->data + in, bytes.data, n);
		mark(p, in, in + (unsigned)n, true);
		compare(p, in, bytes.data, was, n);
		was = was ? was + n : NULL;
		off += n;
		bytes.data += n;
		bytes.len -= n;
	}
	return 0;
}

void
held_drop(struct held *o, uint64_t from, uint64_t to)
{
	size_t first = find(o, from / PAGE), left = first, i = first;
	if (first == o->pages)
		return;
	for (; from < to && i < o->pages && o->page[i]->at * PAGE < to; i++) {
		struct held_page *p = o->page[i];
		uint64_t start = p->at * PAGE;
		mark(p, (unsigned)(max_u64(from, start) - start),
			(unsigned)(min_u64(to, start + PAGE) - start), false);
		if (p->count)
			o->page[left++] = p;
		else
			free(p);
	}
	memmove(o->page + left, o->page + i, (o->pages - i) * sizeof *o->page);
	o->pages -= i - left;
}

/* other: of those alone that the writer had not seen there. */
static bool
run(const struct held *o, bool other, uint64_t from, uint64_t to, uint64_t *ret_from,
	uint64_t *ret_to)
{
	bool any = false;
	uint64_t start = 0, end = 0;
	for (size_t i = find(o, from / PAGE); i < o->pages && o->page[i]->at * PAGE < to; i++) {
		const struct held_page *p = o->page[i];
		const uint64_t *bits = other ? p->other : p->bits;
		uint64_t at = p->at * PAGE;
		unsigned in = at < from ? (unsigned)(from - at) : 0;
		if (!any) {
			in = next_bit(bits, in, true);
			if (in == PAGE)
				continue;
			any = true;
			start = end = at + in;
		} else if (at != end) {
			break;
		}
		unsigned stop = next_bit(bits, in, false);
		end = at + stop;
		if (stop < PAGE)
			break;
	}
	if (!any || start >= to)
		return false;
	*ret_from = start;
	*ret_to = min_u64(end, to);
	return true;
}

bool
held_run(const struct held *o, uint64_t from, uint64_t to, uint64_t *ret_from, uint64_t *ret_to)
{
	return run(o, false, from, to, ret_from, ret_to);
}

bool
held_run_other(
	const struct held *o, uint64_t from, uint64_t to, uint64_t *ret_from, uint64_t *ret_to)
{
	return run(o, true, from, to, ret_from, ret_to);
}

void
held_lay(const struct held *o, uint64_t off, size_t n, uint8_t *to)
{
	uint64_t from, end;
	for (size_t i = find(o, off / PAGE); i < o->pages && o->page[i]->at * PAGE < off + n; i++) {
		const struct held_page *p = o->page[i];
		uint64_t at = p->at * PAGE;
		from = max_u64(off, at);
		end = min_u64(off + n, at + PAGE);
		while (from < end) {
			unsigned a = next_in(p, (unsigned)(from - at), true);
			unsigned b = next_in(p, a, false);
			b = (unsigned)min_u64(b, end - at);
			if (a < b)
				memcpy(to + (at + a - off), p->data + a, b - a);
			from = at + max_u64(a, b);
		}
	}
}

bool
held_has(const struct held *o, uint64_t from, uint64_t to)
{
	uint64_t a, b;
	return from >= to || (held_run(o, from, to, &a, &b) && a == from && b == to);
}

uint64_t
held_end(const struct held *o)
{
	if (!o->pages)
		return 0;
	const struct held_page *p = o->page[o->pages - 1];
	unsigned last = 0;
	for (unsigned at = next_in(p, 0, true); at < PAGE; at = next_in(p, last, true))
		last = next_in(p, at, false);
	return p->at * PAGE + last;
}
