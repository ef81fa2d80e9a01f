#include "view/netcdf/h5.h"

#include "base/check.h"
#include "base/err.h"
#include "base/lookup3.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

void
h5_done(struct h5 *w)
{
	buf_free(&w->to);
	buf_free(&w->heap);
}

/* Room for n bytes more. */
static bool
has_room(struct h5 *w, size_t n)
{
	struct buf *b = &w->to;
	if (w->error == 0 && n > b->cap - b->len)
		w->error = buf_reserve(b, max_u64(2 * b->cap, b->len + n));
	return w->error == 0;
}

void
h5_put(struct h5 *w, const void *data, size_t n)
{
	if (!n || !has_room(w, n))
		return;
	memcpy(w->to.data + w->to.len, data, n);
	w->to.len += n;
}

static void
encode(uint64_t v, unsigned bytes, uint8_t *to)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (uint8_t)(v >> 8 * i);
}

void
h5_number(struct h5 *w, uint64_t v, unsigned bytes)
{
	const uint64_t little = htole64(v);
	if (!has_room(w, bytes))
		return;
	uint8_t *to = w->to.data + w->to.len;
	switch (bytes) { /* most of them, without a call */
	case 1: memcpy(to, &little, 1); break;
	case 2: memcpy(to, &little, 2); break;
	case 4: memcpy(to, &little, 4); break;
	case 8: memcpy(to, &little, 8); break;
	default: memcpy(to, &little, bytes);
	}
	w->to.len += bytes;
}

void
h5_zeros(struct h5 *w, uint64_t n)
{
	static const uint8_t zeros[64];
	for (; n > sizeof zeros && w->error == 0; n -= sizeof zeros)
		h5_put(w, zeros, sizeof zeros);
	h5_put(w, zeros, n);
}

uint64_t
h5_align(struct h5 *w)
{
	h5_zeros(w, round_up(w->to.len, 8) - w->to.len);
	return w->to.len;
}

/* A number that was not known when its place was passed. */
static void
patch(struct h5 *w, size_t at, uint64_t v, unsigned bytes)
{
	if (w->error == 0)
		encode(v, bytes, w->to.data + at);
}

/* Of all bytes from there on. */
static void
checksum(struct h5 *w, size_t from)
{
	if (w->error == 0)
		h5_number(w, w->draft ? 0 : lookup3(w->to.data + from, w->to.len - from, 0), 4);
}

void
h5_superblock(struct h5 *w, uint64_t file_size, uint64_t root)
{
	static const uint8_t start[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n', 2, 8, 8, 0};
	h5_put(w, start, sizeof start);
	h5_number(w, 0, 8);
	h5_number(w, H5_UNDEFINED, 8);
	h5_number(w, file_size, 8);
	h5_number(w, root, 8);
	checksum(w, 0);
}

/* Order of attributes tracked and indexed, limits for keeping them here said, four bytes for the
 * size. */
enum { OBJECT_FLAGS = 0x1e, OBJECT_SIZE_AT = 10, OBJECT_HEAD = 14 };

uint64_t
h5_begin_object(struct h5 *w)
{
	static const uint8_t start[] = {'O', 'H', 'D', 'R', 2, OBJECT_FLAGS, 0xff, 0xff};
	w->object = h5_align(w);
	h5_put(w, start, sizeof start);
	h5_number(w, 0, 2);
	h5_number(w, 0, 4);
	return w->object;
}

void
h5_end_object(struct h5 *w)
{
	uint64_t size = w->to.len - w->object - OBJECT_HEAD;
	if (w->error == 0 && size > UINT32_MAX)
		w->error = err_set(-EFBIG, "a group of more than 4 GiB of metadata");
	patch(w, w->object + OBJECT_SIZE_AT, size, 4);
	checksum(w, w->object);
}

enum { MESSAGE_SIZE_AT = 1, MESSAGE_HEAD = 6, MESSAGE_CONSTANT = 1 };

void
h5_begin_message(struct h5 *w, enum h5_message type, unsigned order)
{
	const bool constant = type == H5_DATATYPE || type == H5_FILL_VALUE;
	const uint64_t flags = constant ? MESSAGE_CONSTANT : 0;
	w->message = w->to.len;
	/* the size is not known yet */
	h5_number(w, type | flags << 24 | (uint64_t)order << 32, MESSAGE_HEAD);
}

void
h5_end_message(struct h5 *w)
{
	size_t size = w->to.len - w->message - MESSAGE_HEAD;
	if (w->error == 0 && size > H5_MESSAGE_MAX)
		w->error = err_set(-EFBIG, "a piece of HDF5 metadata has %zu bytes", size);
	patch(w, w->message + MESSAGE_SIZE_AT, size, 2);
}

/* Class and version, three bytes of bits, size. */
static void
type_head(struct h5 *w, unsigned class, unsigned bits, uint32_t size)
{
	h5_number(w, class | bits << 8 | (uint64_t)size << 32, 8);
}

static void
put_integer(struct h5 *w, const struct h5_type *t)
{
	type_head(w, 0x10, t->big | (unsigned)t->has_sign << 3, t->size);
	h5_number(w, (uint64_t)8 * t->size << 16, 4);
}

static void
put_real(struct h5 *w, const struct h5_type *t)
{
	const bool eight = t->size == 8;
	const unsigned mantissa = eight ? 52 : 23, exponent = eight ? 11 : 8;
	/* the mantissa's first bit is not stored; where the sign is */
	type_head(w, 0x11, t->big | 0x20 | (8 * t->size - 1) << 8, t->size);
	h5_number(w, 0, 2);
	h5_number(w, 8 * t->size, 2);
	h5_number(w, mantissa, 1);
	h5_number(w, exponent, 1);
	h5_number(w, 0, 1);
	h5_number(w, mantissa, 1);
	h5_number(w, (1u << (exponent - 1)) - 1, 4);
}

enum { REFERENCE_SIZE = 8, HEAP_REFERENCE_SIZE = 16, UTF8_PADDED = 0x11, LONG_UTF8 = 0x101 };

static void
put_compound(struct h5 *w)
{
	static const char first[] = "dataset", second[] = "dimension";
	static const struct h5_type reference = {H5_REFERENCE, .size = REFERENCE_SIZE},
				    number = {H5_INTEGER, .size = 4};
	type_head(w, 0x36, 2, 2 * REFERENCE_SIZE);
	h5_put(w, first, sizeof first);
	h5_number(w, 0, 1);
	h5_type(w, &reference);
	h5_put(w, second, sizeof second);
	h5_number(w, REFERENCE_SIZE, 1);
	h5_type(w, &number);
}

void
h5_type(struct h5 *w, const struct h5_type *t)
{
	static const struct h5_type byte = {H5_INTEGER, .size = 1},
				    reference = {H5_REFERENCE, .size = REFERENCE_SIZE};
	switch (t->class) {
	case H5_INTEGER: put_integer(w, t); break;
	case H5_REAL: put_real(w, t); break;
	case H5_TEXT: type_head(w, 0x13, UTF8_PADDED, t->size); break;
	case H5_NAME: type_head(w, 0x13, 0, t->size); break;
	case H5_LONG_TEXT:
		type_head(w, 0x19, LONG_UTF8, HEAP_REFERENCE_SIZE);
		h5_type(w, &byte);
		break;
	case H5_REFERENCE: type_head(w, 0x17, 0, REFERENCE_SIZE); break;
	case H5_REFERENCES:
		type_head(w, 0x19, 0, HEAP_REFERENCE_SIZE);
		h5_type(w, &reference);
		break;
	case H5_BACK_REFERENCE: put_compound(w); break;
	}
}

enum { SPACE_SCALAR, SPACE_SIMPLE, SPACE_NULL };

void
h5_space(struct h5 *w, unsigned rank, const uint64_t *size, const uint64_t *most)
{
	const unsigned kind = rank ? SPACE_SIMPLE : SPACE_SCALAR;
	h5_number(w, 2 | rank << 8 | (unsigned)(most != NULL) << 16 | kind << 24, 4);
	for (unsigned i = 0; i < rank; i++)
		h5_number(w, size[i], 8);
	for (unsigned i = 0; most && i < rank; i++)
		h5_number(w, most[i], 8);
}

static void
null_space(struct h5 *w)
{
	h5_number(w, 2, 1);
	h5_number(w, 0, 2);
	h5_number(w, SPACE_NULL, 1);
}

void
h5_begin_attribute(struct h5 *w, unsigned order, const struct h5_attr *a)
{
	const size_t name = strlen(a->name) + 1;
	h5_begin_message(w, H5_ATTRIBUTE, order);
	h5_number(w, 3 | (uint64_t)(uint16_t)name << 16, 4);
	const size_t sizes = w->to.len;
	h5_number(w, (uint64_t)1 << 32, 5); /* behind the sizes: the name is UTF-8 */
	h5_put(w, a->name, name);
	const size_t type = w->to.len;
	h5_type(w, &a->type);
	const size_t space = w->to.len;
	if (!a->count)
		null_space(w);
	else
		h5_space(w, !a->scalar, &a->count, NULL);
	patch(w, sizes, space - type, 2);
	patch(w, sizes + 2, w->to.len - space, 2);
}

void
h5_attribute(struct h5 *w, unsigned order, const struct h5_attr *a)
{
	h5_begin_attribute(w, order, a);
	if (a->count)
		h5_put(w, a->data.data, a->data.len);
	h5_end_message(w);
}

void
h5_attribute_info(struct h5 *w, unsigned count)
{
	h5_begin_message(w, H5_ATTRIBUTE_INFO, 0);
	h5_number(w, 0, 1);
	h5_number(w, 3, 1); /* order tracked and indexed */
	h5_number(w, count, 2);
	for (int i = 0; i < 3; i++)
		h5_number(w, H5_UNDEFINED, 8);
	h5_end_message(w);
}

void
h5_group_info(struct h5 *w, uint64_t links)
{
	h5_begin_message(w, H5_LINK_INFO, 0);
	h5_number(w, 0, 1);
	h5_number(w, 3, 1);
	h5_number(w, links, 8);
	for (int i = 0; i < 3; i++)
		h5_number(w, H5_UNDEFINED, 8);
	h5_end_message(w);
	h5_begin_message(w, H5_GROUP_INFO, 0);
	h5_number(w, 0, 1);
	h5_number(w, 1, 1); /* limits follow: any number of links may be messages */
	h5_number(w, UINT16_MAX, 2);
	h5_number(w, 0, 2);
	h5_end_message(w);
}

void
h5_link(struct h5 *w, uint64_t order, const char *name, uint64_t at)
{
	const size_t len = strlen(name);
	const bool wide = len > UINT8_MAX;
	h5_begin_message(w, H5_LINK, 0);
	h5_number(w, 1, 1);
	h5_number(w, 0x14u | wide, 1); /* order and character set are said */
	h5_number(w, order, 8);
	h5_number(w, 1, 1);
	h5_number(w, len, wide ? 2 : 1);
	h5_put(w, name, len);
	h5_number(w, at, 8);
	h5_end_message(w);
}

void
h5_fill(struct h5 *w, bool stored, struct span value)
{
	enum { EARLY = 1, LATE = 2, NEVER = 1 << 2, IF_SET = 2 << 2, HAS_VALUE = 0x20 };
	h5_begin_message(w, H5_FILL_VALUE, 0);
	h5_number(w, 3, 1);
	h5_number(w, (stored ? EARLY | NEVER : LATE | IF_SET) | (value.data ? HAS_VALUE : 0), 1);
	if (value.data) {
		h5_number(w, value.len, 4);
		h5_put(w, value.data, value.len);
	}
	h5_end_message(w);
}

void
h5_contiguous(struct h5 *w, uint64_t at, uint64_t size)
{
	h5_begin_message(w, H5_LAYOUT, 0);
	h5_number(w, 3, 1);
	h5_number(w, 1, 1);
	h5_number(w, at, 8);
	h5_number(w, size, 8);
	h5_end_message(w);
}

void
h5_chunked(struct h5 *w, uint64_t tree, unsigned rank, const uint64_t *chunk, uint32_t element)
{
	h5_begin_message(w, H5_LAYOUT, 0);
	h5_number(w, 3, 1);
	h5_number(w, 2, 1);
	h5_number(w, rank + 1, 1);
	h5_number(w, tree, 8);
	for (unsigned i = 0; i < rank; i++)
		h5_number(w, chunk[i], 4);
	h5_number(w, element, 4);
	h5_end_message(w);
}

/* Collections have at least 4 KiB, and grow to 1 MiB, or to what one object needs. */
enum { HEAP_HEAD = 16, HEAP_LEAST = 4096, HEAP_MOST = 1 << 20, OBJECT_INDEX_MAX = UINT16_MAX };

static void
heap_put(struct h5 *w, const void *data, size_t n)
{
	if (w->error == 0 && n)
		w->error = buf_add(&w->heap, data, n);
}

static void
heap_number(struct h5 *w, uint64_t v, unsigned bytes)
{
	uint8_t out[8];
	encode(v, bytes, out);
	heap_put(w, out, bytes);
}

static void
heap_zeros(struct h5 *w, size_t n)
{
	static const uint8_t zeros[HEAP_LEAST];
	heap_put(w, zeros, n);
}

/* What is free of the last collection is an object of its own, and its size is known. */
static void
end_collection(struct h5 *w)
{
	const size_t used = w->heap.len - w->collection;
	const size_t size = used + HEAP_HEAD > HEAP_LEAST ? used + HEAP_HEAD : HEAP_LEAST;
	if (!w->objects)
		return;
	heap_number(w, 0, 8);
	heap_number(w, size - used, 8);
	heap_zeros(w, size - used - HEAP_HEAD);
	if (w->error == 0)
		encode(size, 8, w->heap.data + w->collection + 8);
	w->objects = 0;
}

static void
begin_collection(struct h5 *w)
{
	static const uint8_t start[] = {'G', 'C', 'O', 'L', 1, 0, 0, 0};
	w->collection = w->heap.len;
	heap_put(w, start, sizeof start);
	heap_number(w, 0, 8);
}

struct h5_object
h5_heap_add(struct h5 *w, const void *data, size_t n)
{
	const uint64_t used = w->heap.len - w->collection;
	if (w->objects == OBJECT_INDEX_MAX || used + n + (uint64_t)2 * HEAP_HEAD > HEAP_MOST)
		end_collection(w);
	if (!w->objects)
		begin_collection(w);
	heap_number(w, ++w->objects, 2);
	heap_number(w, 0, 6);
	heap_number(w, n, 8);
	heap_put(w, data, n);
	heap_zeros(w, round_up(n, 8) - n);
	return (struct h5_object){w->heap_at + w->collection, w->objects};
}

void
h5_put_object(struct h5 *w, uint32_t n, const struct h5_object *o)
{
	h5_number(w, n, 4);
	h5_number(w, o->collection, 8);
	h5_number(w, o->index, 4);
}

void
h5_end_heap(struct h5 *w)
{
	end_collection(w);
	w->heap_at = h5_align(w);
	h5_put(w, w->heap.data, w->heap.len);
}

/* Half as many entries as a node has room for; the superblock says nothing else. */
enum { TREE_K = 32, TREE_ROOM = 2 * TREE_K, TREE_HEAD = 24 };

static uint64_t
node_size(const struct h5_chunks *c)
{
	return TREE_HEAD + TREE_ROOM * 8 + (TREE_ROOM + 1) * (8 + 8 * (uint64_t)(c->rank + 1));
}

/* The chunk with that number, or what would come behind the last. */
static void
put_key(struct h5 *w, const struct h5_chunks *c, uint64_t chunk)
{
	h5_number(w, c->bytes, 4);
	h5_number(w, 0, 4);
	h5_number(w, min_u64(chunk, c->count) * c->rows, 8);
	h5_zeros(w, 8 * (uint64_t)c->rank);
}

/* level: with so many nodes, each child of which covers `span` chunks, and from where on the
 * children lie, so far apart. */
struct h5_level {
	unsigned number;
	uint64_t nodes, span, children, child, step;
};

static void
put_node(struct h5 *w, const struct h5_chunks *c, const struct h5_level *l, uint64_t i)
{
	const uint64_t size = node_size(c), at = w->to.len, first = i * TREE_ROOM;
	const uint64_t n = min_u64(l->children - first, TREE_ROOM);
	h5_put(w, "TREE", 4);
	h5_number(w, 1, 1);
	h5_number(w, l->number, 1);
	h5_number(w, n, 2);
	h5_number(w, i ? at - size : H5_UNDEFINED, 8);
	h5_number(w, i + 1 < l->nodes ? at + size : H5_UNDEFINED, 8);
	for (uint64_t k = first; k < first + n; k++) {
		put_key(w, c, k * l->span);
		h5_number(w, l->child + k * l->step, 8);
	}
	put_key(w, c, (first + n) * l->span);
	h5_zeros(w, at + size - w->to.len);
}

uint64_t
h5_tree(struct h5 *w, const struct h5_chunks *c)
{
	struct h5_level l = {.span = 1, .children = c->count, .child = c->at, .step = c->bytes};
	h5_align(w);
	for (;; l.number++) {
		const uint64_t at = w->to.len;
		l.nodes = ceil_div(l.children, TREE_ROOM);
		for (uint64_t i = 0; i < l.nodes && w->error == 0; i++)
			put_node(w, c, &l, i);
		if (l.nodes <= 1 || w->error < 0)
			return at;
		l = (struct h5_level){l.number, 0, l.span * TREE_ROOM, l.nodes, at, node_size(c)};
	}
}
