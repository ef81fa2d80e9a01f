/* Tables of a FlatBuffers buffer, read where they lie (Icechunk spec, "Flatbuffers";
 * flatbuffers.dev, "Internals"). Nothing is unpacked and nothing trusted: every offset is checked
 * when it is followed, and the depth is that of the caller's own calls. Buffers are the caller's;
 * no memory is taken; any thread may call.
 *
 * Outcomes: 0; FLAT_NONE: the field is not there; -EIO with the reason. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

enum { FLAT_NONE = 1 };

struct flat_table {
	struct span all; /* the whole buffer */
	size_t at;       /* of the table in it */
	size_t vtable;
	unsigned slots, size; /* fields that the vtable has; bytes of the table */
};

struct flat_vector {
	struct span all;
	size_t at; /* of the first element */
	uint32_t count;
	unsigned item; /* bytes of an element */
};

int flat_root(struct span, struct flat_table *ret);
/* A scalar of 1, 2, 4 or 8 bytes, little-endian. *ret keeps the default that it holds where the
 * field is absent, which is 0, not FLAT_NONE. */
int flat_number(const struct flat_table *, unsigned slot, unsigned bytes, uint64_t *ret);
/* A struct that lies in the table. */
int flat_struct(const struct flat_table *, unsigned slot, unsigned bytes, const uint8_t **ret);
/* A vector (also a string: item 1) whose elements take `item` bytes; tables and strings in a vector
 * are references of 4. */
int flat_vector(const struct flat_table *, unsigned slot, unsigned item, struct flat_vector *ret);
/* Bytes or a string. */
int flat_bytes(const struct flat_table *, unsigned slot, struct span *ret);
int flat_sub(const struct flat_table *, unsigned slot, struct flat_table *ret);
/* Element i < count, of a vector of tables; of scalars or structs. */
int flat_table_of(const struct flat_vector *, uint32_t i, struct flat_table *ret);
static inline const uint8_t *
flat_item(const struct flat_vector *v, uint32_t i)
{
	return v->all.data + v->at + (size_t)i * v->item;
}
/* A string of a vector of strings. */
int flat_string_of(const struct flat_vector *, uint32_t i, struct span *ret);
/* The same outcome, but that what is not there is -EIO with its name. */
int flat_required(int r, const char *name);

static inline uint32_t
flat_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t
flat_u64(const uint8_t *p)
{
	return flat_u32(p) | (uint64_t)flat_u32(p + 4) << 32;
}
