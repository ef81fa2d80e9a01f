#include "data/copy.h"

#include "base/check.h"

#include <string.h>

/* Rows of up to 64 bytes by two or four overlapping moves, which is several times faster than a
 * call of memcpy each. */
static inline void
copy_16_32(uint8_t *to, const uint8_t *from, size_t n)
{
	uint64_t a[4];
	memcpy(a, from, 16);
	memcpy(a + 2, from + n - 16, 16);
	memcpy(to, a, 16);
	memcpy(to + n - 16, a + 2, 16);
}

static inline void
copy_32_64(uint8_t *to, const uint8_t *from, size_t n)
{
	uint64_t a[8];
	memcpy(a, from, 32);
	memcpy(a + 4, from + n - 32, 32);
	memcpy(to, a, 32);
	memcpy(to + n - 32, a + 4, 32);
}

#define EACH_ROW(move)                                                                             \
	for (uint64_t i = 0; i < r->count; i++, to += r->file_step, from += r->chunk_step)         \
	move

static void
copy_rows(const struct rows *r, uint8_t *to, const uint8_t *from)
{
	size_t n = r->bytes;
	if (n == 4)
		EACH_ROW(memcpy(to, from, 4));
	else if (n == 8)
		EACH_ROW(memcpy(to, from, 8));
	else if (n >= 16 && n <= 32)
		EACH_ROW(copy_16_32(to, from, n));
	else if (n > 32 && n <= 64)
		EACH_ROW(copy_32_64(to, from, n));
	else
		EACH_ROW(memcpy(to, from, n));
}

/* Rows that an extent holds only some bytes of. */
static void
copy_clipped(const struct rows *r, const struct extent *p, uint8_t *file)
{
	uint64_t from = p->id.off, to = from + p->id.len;
	for (uint64_t i = 0; i < r->count; i++) {
		uint64_t c = r->in_chunk + i * r->chunk_step, lo = max_u64(c, from),
			 hi = min_u64(c + r->bytes, to);
		if (lo < hi)
			memcpy(file + r->in_file + i * r->file_step + (lo - c),
				p->data + (lo - from), hi - lo);
	}
}

static void
fill_rows(const struct array *a, const struct rows *r, uint8_t *file)
{
	uint8_t *to = file + r->in_file;
	for (uint64_t i = 0; i < r->count; i++, to += r->file_step)
		array_fill(a, to, r->bytes);
}

void
copy_soon(const struct part *part, const struct extent *p)
{
	enum { LINE = 64, LINES = 8 };
	if (!p->data || part->in_chunk < p->id.off || part->last > p->id.off + p->id.len)
		return;
	const uint8_t *from = p->data + (part->in_chunk - p->id.off),
		      *to = p->data + (part->last - p->id.off);
	for (int i = 0; i < LINES && from < to; i++, from += LINE)
		__builtin_prefetch(from);
}

void
copy_part(const struct array *a, const struct part *part, const struct extent *p, uint8_t *file)
{
	struct rows_walk w;
	uint64_t from = p->id.off, to = from + p->id.len;
	grid_rows(&a->grid, part, &w);
	do {
		const struct rows *r = &w.rows;
		uint64_t end = r->in_chunk + (r->count - 1) * r->chunk_step + r->bytes;
		if (end <= from || r->in_chunk >= to)
			continue;
		if (!p->data)
			fill_rows(a, r, file);
		else if (r->in_chunk >= from && end <= to)
			copy_rows(r, file + r->in_file, p->data + (r->in_chunk - from));
		else
			copy_clipped(r, p, file);
	} while (grid_rows_next(&w));
}
