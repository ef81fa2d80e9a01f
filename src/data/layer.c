#include "data/layer.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORD = 64,
	WHOLE_FROM =
		4, /* a window that needs a quarter of the chunk is all of it: the rest will come */
};

struct layer *
layer_free(struct layer *l)
{
	if (!l)
		return NULL;
	layer_free(l->under);
	mem_put(l->data, l->data_cap);
	free(l->bits);
	free(l);
	return NULL;
}

size_t
layer_cost(const struct layer *l)
{
	if (!l)
		return 0;
	return sizeof *l + l->data_cap + (l->bits ? l->len / 8 : 0) + layer_cost(l->under);
}

size_t
layer_end(const struct layer *l)
{
	const size_t under = l && l->under ? layer_end(l->under) : 0;
	if (!l || !l->count)
		return under;
	size_t i = l->bits ? l->len / WORD : 0;
	while (i > 0 && !l->bits[i - 1])
		i--;
	const size_t end =
		i ? i * WORD - (size_t)__builtin_clzll(l->bits[i - 1]) : l->first + l->count;
	return max_u64(l->lo + end, under);
}

bool
layer_any(const struct layer *l)
{
	return l->count || (l->under && l->under->count);
}

/* Grows the window to [from, to), which holds the one there is. */
static int
widen(struct layer *l, size_t from, size_t to, void *(*get)(size_t *size))
{
	size_t cap = to - from, before = l->len ? l->lo - from : 0;
	uint64_t *bits = l->bits ? calloc((to - from) / WORD, sizeof *bits) : NULL;
	uint8_t *data = get(&cap);
	if ((l->bits && !bits) || !data) {
		free(bits);
		mem_put(data, cap);
		return err_set(-ENOMEM, "no memory for %zu bytes that were written", to - from);
	}
	if (bits)
		memcpy(bits + before / WORD, l->bits, l->len / 8);
	if (bits)
		memcpy(data + before, l->data, l->len);
	else if (l->count)
		memcpy(data + before + l->first, l->data + l->first, l->count);
	mem_put(l->data, l->data_cap);
	free(l->bits);
	l->first += before;
	l->data = data;
	l->data_cap = cap;
	l->bits = bits;
	l->lo = from;
	l->len = to - from;
	return 0;
}

int
layer_room(struct layer *l, size_t most, size_t from, size_t to)
{
	if (l->len && from >= l->lo && to <= l->lo + l->len)
		return 0;
	size_t all = round_up(most, WORD), low = from / WORD * WORD, high = round_up(to, WORD);
	if (l->len) {
		low = min_u64(low, l->lo);
		high = max_u64(high, l->lo + l->len);
	}
	if (high - low >= all / WHOLE_FROM)
		return widen(l, 0, all, mem_get);
	size_t want = 2 * l->len; /* so that it is not copied for each row */
	if (high - low < want && low < l->lo)
		low = high > want ? high - want : 0;
	if (high - low < want)
		high = min_u64(all, low + want);
	return widen(l, low, high, mem_get);
}

int
layer_room_ahead(struct layer *l, size_t most)
{
	size_t all = round_up(most, WORD);
	return l->len == all ? 0 : widen(l, 0, all, mem_get_bare);
}

/* Of word i of a range that ends at bit `end` of the window: the bits in [at, end). */
static uint64_t
mask(size_t at, size_t end)
{
	size_t first = at % WORD, n = min_u64(WORD - first, end - at);
	return (n == WORD ? UINT64_MAX : ((uint64_t)1 << n) - 1) << first;
}

static void
set_bits(struct layer *l, size_t in, size_t end)
{
	while (in < end) {
		uint64_t m = mask(in, end), *w = &l->bits[in / WORD], more = m & ~*w;
		l->count += more == UINT64_MAX ? WORD : (size_t)__builtin_popcountll(more);
		*w |= m;
		in = (in / WORD + 1) * WORD;
	}
}

static int
make_bits(struct layer *l)
{
	if (l->bits)
		return 0;
	l->bits = calloc(l->len / WORD, sizeof *l->bits);
	if (!l->bits)
		return err_set(-ENOMEM, "no memory for what of %zu bytes was written", l->len);
	size_t end = l->first + l->count;
	l->count = 0;
	set_bits(l, l->first, end);
	return 0;
}

/* Do bytes [in, end) of the window lie together with those of the layer, which have no bits? */
static bool
adjoins(const struct layer *l, size_t in, size_t end)
{
	return !l->count || (in <= l->first + l->count && end >= l->first);
}

static void
extend(struct layer *l, size_t in, size_t end)
{
	size_t to = l->count ? max_u64(end, l->first + l->count) : end;
	l->first = l->count ? min_u64(in, l->first) : in;
	l->count = to - l->first;
}

int
layer_put(struct layer *l, size_t at, const uint8_t *bytes, size_t n)
{
	size_t in = at - l->lo, end = in + n;
	bool together = !l->bits && adjoins(l, in, end);
	int r = together ? 0 : make_bits(l);
	if (r < 0)
		return r;
	memcpy(l->data + in, bytes, n);
	if (together)
		extend(l, in, end);
	else
		set_bits(l, in, end);
	return 0;
}

void
layer_cut(struct layer *l, size_t from)
{
	size_t in = from > l->lo ? from - l->lo : 0;
	l->cut = true;
	if (l->under)
		layer_cut(l->under, from);
	if (!l->bits) {
		l->count = in > l->first ? min_u64(l->count, in - l->first) : 0;
		return;
	}
	while (in < l->len) {
		uint64_t m = mask(in, l->len), *w = &l->bits[in / WORD];
		l->count -= (size_t)__builtin_popcountll(m & *w);
		*w &= ~m;
		in = (in / WORD + 1) * WORD;
	}
}

/* The first byte of the window from `in` on that is written, or that is not; or `end`. */
static size_t
next_bit(const struct layer *l, size_t in, size_t end, bool written)
{
	while (in < end) {
		uint64_t w = (written ? l->bits[in / WORD] : ~l->bits[in / WORD]) & mask(in, end);
		if (w)
			return in / WORD * WORD + (size_t)__builtin_ctzll(w);
		in = (in / WORD + 1) * WORD;
	}
	return end;
}

static size_t
next_written(const struct layer *l, size_t in, size_t end)
{
	if (l->bits)
		return next_bit(l, in, end, true);
	return in < l->first + l->count ? min_u64(max_u64(in, l->first), end) : end;
}

static size_t
next_hole(const struct layer *l, size_t in, size_t end)
{
	if (l->bits)
		return next_bit(l, in, end, false);
	size_t to = l->first + l->count;
	return in >= l->first && in < to ? min_u64(to, end) : min_u64(in, end);
}

void
layer_lay(const struct layer *l, size_t at, size_t n, uint8_t *to)
{
	if (!l || !l->count || at + n <= l->lo || at >= l->lo + l->len)
		return;
	size_t from = max_u64(at, l->lo), end = min_u64(at + n, l->lo + l->len) - l->lo;
	for (size_t in = next_written(l, from - l->lo, end); in < end;) {
		size_t hole = next_hole(l, in, end);
		memcpy(to + (l->lo + in - at), l->data + in, hole - in);
		in = next_written(l, hole, end);
	}
}

void
layer_lay_under(
	const struct layer *l, const struct layer_rows *rows, size_t at, size_t n, uint8_t *to)
{
	const struct layer *u = l ? l->under : NULL;
	if (!u || !u->count)
		return;
	size_t from = max_u64(at, u->lo / rows->row * rows->row);
	const size_t end = min_u64(at + n, u->lo + u->len);
	for (size_t next; from < end; from = next) {
		next = min_u64(at + n, (from / rows->row + 1) * rows->row);
		const struct span row = {to + (from - at), next - from};
		if (layer_touches(u, from, next) && span_repeats(row, rows->fill, rows->item))
			layer_lay(u, from, next - from, to + (from - at));
	}
}

bool
layer_touches(const struct layer *l, size_t from, size_t to)
{
	if (l && layer_touches(l->under, from, to))
		return true;
	if (!l || !l->count || to <= l->lo || from >= l->lo + l->len)
		return false;
	size_t end = min_u64(to, l->lo + l->len) - l->lo;
	return next_written(l, max_u64(from, l->lo) - l->lo, end) < end;
}

size_t
layer_find_other(const struct layer *l, size_t from, size_t to, const uint8_t *item, size_t n)
{
	if (!l || !l->count || to <= max_u64(from, l->lo) || from >= l->lo + l->len)
		return SIZE_MAX;
	const size_t end = min_u64(to - l->lo, l->len);
	for (size_t in = next_written(l, max_u64(from, l->lo) - l->lo, end); in < end;) {
		const size_t hole = next_hole(l, in, end);
		for (size_t at = round_up(l->lo + in, n); at + n <= l->lo + hole; at += n)
			if (memcmp(l->data + (at - l->lo), item, n) != 0)
				return at;
		in = next_written(l, hole, end);
	}
	return SIZE_MAX;
}

/* The first byte from `at` on that was not written to l, at most `end`. */
static size_t
hole_of(const struct layer *l, size_t at, size_t end)
{
	if (!l || at < l->lo || at >= l->lo + l->len)
		return at;
	return l->lo + next_hole(l, at - l->lo, min_u64(end - l->lo, l->len));
}

bool
layer_has(const struct layer *a, const struct layer *b, size_t at, size_t n)
{
	size_t end = at + n;
	while (at < end) {
		size_t next = hole_of(b, hole_of(a, at, end), end);
		if (next == at)
			return false;
		at = next;
	}
	return true;
}

static int
join_under(struct layer *lower, const struct layer *upper, size_t most)
{
	if (!upper->under)
		return 0;
	if (!lower->under && !(lower->under = calloc(1, sizeof *lower->under)))
		return err_set(-ENOMEM, "no memory for what is written");
	return layer_join(lower->under, upper->under, most);
}

int
layer_join(struct layer *lower, const struct layer *upper, size_t most)
{
	int r = join_under(lower, upper, most);
	if (r < 0 || !upper->count)
		return r;
	r = layer_room(lower, most, upper->lo, min_u64(most, upper->lo + upper->len));
	size_t before = upper->lo - lower->lo + upper->first;
	if (r == 0 && (upper->bits || !adjoins(lower, before, before + upper->count)))
		r = make_bits(lower); /* so that no put fails */
	if (r < 0)
		return r;
	for (size_t in = next_written(upper, 0, upper->len); in < upper->len;) {
		size_t hole = next_hole(upper, in, upper->len);
		layer_put(lower, upper->lo + in, upper->data + in, hole - in);
		in = next_written(upper, hole, upper->len);
	}
	return 0;
}
