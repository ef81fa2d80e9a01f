/* FlexBuffers (flatbuffers.dev, "FlexBuffers"), read where they lie, as far as an Icechunk
 * configuration needs them: maps and texts. What is damaged, or of another type than was asked for,
 * is as good as absent. Buffers are the caller's; no memory is taken; any thread may call. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

/* A value: its type, and where its slot is. */
struct flex {
	struct span all;
	size_t at;      /* of the slot */
	unsigned slot;  /* bytes of the slot */
	unsigned width; /* of what the slot leads to: 1, 2, 4 or 8 */
	unsigned type;
};

/* A map whose bounds were checked. */
struct flex_map {
	struct span all;
	size_t at, keys; /* of the first value and key */
	unsigned width, key_width;
	size_t count;
};

bool flex_root(struct span, struct flex *ret);
bool flex_map(const struct flex *, struct flex_map *ret);
/* Entry i < count. */
bool flex_entry(const struct flex_map *, size_t i, struct span *ret_key, struct flex *ret);
bool flex_get(const struct flex_map *, const char *key, struct flex *ret);
bool flex_text(const struct flex *, struct span *ret);
bool flex_true(const struct flex *);
