/* What load.c (whole chunks, the outcome) and load_part.c (parts of chunks) share. Nobody else includes it. */
#pragma once

#include "data/array_impl.h"

struct load {
	struct array *array;
	struct piece *piece;
	bool keep_encoded;
	int64_t deadline;
	struct zmap_stat stat;
	char key[ARRAY_KEY_MAX];
};

static inline void
load_count(atomic_ullong *c, unsigned long long n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

/* One request for bytes of the chunk; fills in key and deadline. Outcomes as zmap_get. */
int load_get(struct load *, struct zmap_get *);
/* The version that the store is asked to compare with, or NULL. */
const char *load_known_version(const struct load *);
/* A chunk newer than what we know of its array makes us look at the metadata again: the array may have been rewritten. */
int load_check_found(struct load *);
/* A chunk of this array takes so many bytes in the store. */
void load_learn_size(struct array *, size_t encoded);
/* Memory for the piece, and its way into it. */
int load_room(struct load *, struct buf *out);
/* The bytes become the piece's: id.len of them, which are as a file shows them but for their order. */
void load_hand_over(struct load *, struct buf *out);

/* Parts of chunks by fetching and decoding only those, for chains that can. Outcomes as zmap_get. */
int load_range(struct load *);
int load_raw_range(struct load *);
