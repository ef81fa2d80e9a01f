#include "backends/icechunk/flat.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

enum { OFFSET = 4, VTABLE_HEAD = 4 };

static unsigned
u16(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

static int
bad(const char *what)
{
	err_set(-EIO, "damaged: %s lies outside", what);
	return -EIO;
}

static bool
inside(struct span all, uint64_t at, uint64_t bytes)
{
	return at <= all.len && bytes <= all.len - at;
}

static int
table_at(struct span all, uint64_t at, struct flat_table *ret)
{
	if (at < OFFSET || at % OFFSET || !inside(all, at, OFFSET))
		return bad("a table");
	int64_t vtable = (int64_t)at - (int32_t)flat_u32(all.data + at);
	if (vtable < 0 || !inside(all, (uint64_t)vtable, VTABLE_HEAD))
		return bad("the description of a table");
	unsigned bytes = u16(all.data + vtable), size = u16(all.data + vtable + 2);
	if (bytes < VTABLE_HEAD || bytes % 2 || !inside(all, (uint64_t)vtable, bytes))
		return bad("the description of a table");
	if (size < OFFSET || !inside(all, at, size))
		return bad("a table's end");
	*ret = (struct flat_table){all, at, (size_t)vtable, (bytes - VTABLE_HEAD) / 2, size};
	return 0;
}

int
flat_root(struct span all, struct flat_table *ret)
{
	return inside(all, 0, OFFSET) ? table_at(all, flat_u32(all.data), ret) : bad("the root");
}

/* Where the field begins in the buffer. */
static int
field(const struct flat_table *t, unsigned slot, unsigned bytes, size_t *ret)
{
	unsigned off = slot < t->slots ? u16(t->all.data + t->vtable + VTABLE_HEAD + 2 * slot) : 0;
	if (!off)
		return FLAT_NONE;
	if (off < OFFSET || off > t->size || bytes > t->size - off)
		return bad("a field");
	*ret = t->at + off;
	return 0;
}

/* Where a reference leads. */
static int
follow(struct span all, size_t from, uint64_t *ret)
{
	*ret = (uint64_t)from + flat_u32(all.data + from);
	return *ret > from && inside(all, *ret, OFFSET) ? 0 : bad("what a reference means");
}

int
flat_number(const struct flat_table *t, unsigned slot, unsigned bytes, uint64_t *ret)
{
	size_t at = 0;
	uint64_t n = 0;
	int r = field(t, slot, bytes, &at);
	if (r)
		return r < 0 ? r : 0;
	for (unsigned i = 0; i < bytes; i++)
		n |= (uint64_t)t->all.data[at + i] << 8 * i;
	*ret = n;
	return 0;
}

int
flat_struct(const struct flat_table *t, unsigned slot, unsigned bytes, const uint8_t **ret)
{
	size_t at = 0;
	int r = field(t, slot, bytes, &at);
	if (r == 0)
		*ret = t->all.data + at;
	return r;
}

static int
vector_at(struct span all, size_t reference, unsigned item, struct flat_vector *ret)
{
	uint64_t at = 0;
	int r = follow(all, reference, &at);
	if (r < 0)
		return r;
	uint32_t count = flat_u32(all.data + at);
	if (!inside(all, at + OFFSET, (uint64_t)count * item))
		return bad("the end of a list");
	*ret = (struct flat_vector){all, (size_t)at + OFFSET, count, item};
	return 0;
}

int
flat_vector(const struct flat_table *t, unsigned slot, unsigned item, struct flat_vector *ret)
{
	size_t at = 0;
	int r = field(t, slot, OFFSET, &at);
	return r ? r : vector_at(t->all, at, item, ret);
}

int
flat_bytes(const struct flat_table *t, unsigned slot, struct span *ret)
{
	struct flat_vector v = {0};
	int r = flat_vector(t, slot, 1, &v);
	if (r == 0)
		*ret = (struct span){t->all.data + v.at, v.count};
	return r;
}

int
flat_sub(const struct flat_table *t, unsigned slot, struct flat_table *ret)
{
	size_t at = 0;
	uint64_t to = 0;
	int r = field(t, slot, OFFSET, &at);
	if (r == 0)
		r = follow(t->all, at, &to);
	return r ? r : table_at(t->all, to, ret);
}

int
flat_table_of(const struct flat_vector *v, uint32_t i, struct flat_table *ret)
{
	uint64_t to = 0;
	int r = follow(v->all, v->at + (size_t)i * v->item, &to);
	return r < 0 ? r : table_at(v->all, to, ret);
}

int
flat_string_of(const struct flat_vector *v, uint32_t i, struct span *ret)
{
	struct flat_vector s = {0};
	int r = vector_at(v->all, v->at + (size_t)i * v->item, 1, &s);
	if (r == 0)
		*ret = (struct span){v->all.data + s.at, s.count};
	return r;
}

int
flat_required(int r, const char *name)
{
	return r == FLAT_NONE ? err_set(-EIO, "damaged: it has no '%s'", name) : r;
}
