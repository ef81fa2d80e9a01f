/* What load.c (turns, the outcome), load_whole.c (from all stored bytes) and load_part.c (from some of them) share. Nobody else includes it. */
#pragma once

#include "data/array_impl.h"

struct load {
	struct array *array;
	struct piece *piece;
	enum keep keep;
	bool changed; /* a version was found that is not the one before */
	bool bad;     /* its bytes cannot be decoded */
	bool anew;    /* … so that they are sent again */
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
/* What came of decoding, from r as said by that. */
int load_decoded(struct load *, int r);
/* In which version the store is asked for a piece of a chunk, or which one is known. */
void load_conditions(const struct piece *, struct zmap_get *);
/* A chunk newer than what we know of its array makes us look at the metadata again: the array may have been rewritten. */
int load_check_found(struct load *);
/* A chunk of this array takes so many bytes in the store. */
void load_learn_size(struct array *, size_t encoded);
/* Memory for the piece, and its way into it. */
int load_room(struct load *, struct buf *out);
/* The bytes become the piece's: id.len of them, which are as a file shows them but for their order. */
void load_hand_over(struct load *, struct buf *out);

/* The whole chunk. Outcomes as zmap_get. */
int load_whole(struct load *);
/* A part by decoding everything. */
int load_slice(struct load *);
/* A part of what is cached encoded, for codecs that can decode parts. */
int load_kept_range(struct load *);

/* Parts of chunks by fetching and decoding only those, for chains that can. Outcomes as zmap_get. */
int load_range(struct load *);
int load_raw_range(struct load *);
