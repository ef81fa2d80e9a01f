/* Bytes of one decoded chunk that were written here, and which ones: a window that grows around
 * them. While they lie together the range says which they are, as with a writer that goes in order;
 * then there is a bit for each byte. Not locked: its owner does that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer {
	unsigned refs;       /* the owner's to count */
	size_t lo, len;      /* the window; multiples of 64 bytes of the chunk */
	uint8_t *data;       /* of the window */
	size_t data_cap;     /* for mem_put */
	size_t count;        /* bytes that were written */
	size_t first;        /* of the window, where bits is NULL: the first of them */
	uint64_t *bits;      /* NULL: they lie together */
	struct layer *under; /* bytes for rows that hold nothing but fill; or NULL */
	bool cut;            /* some of what was written may count no more, see layer_cut */
};

struct layer *layer_free(struct layer *); /* NULL allowed; returns NULL */
/* Memory that it takes. */
size_t layer_cost(const struct layer *);

/* Makes the window hold bytes [from, to) of a chunk of `most` bytes. -ENOMEM. */
int layer_room(struct layer *, size_t most, size_t from, size_t to);
/* The same of all of the chunk before much of it is written: memory comes with the bytes, and
 * layer_cost counts all of it at once. -ENOMEM. */
int layer_room_ahead(struct layer *, size_t most);
/* n bytes for `at`, which the window holds. -ENOMEM: nothing happened. */
int layer_put(struct layer *, size_t at, const uint8_t *bytes, size_t n);
/* What was written from `from` on counts no more. */
void layer_cut(struct layer *, size_t from);

/* Lays what was written of bytes [at, at + n) over them at `to`. l NULL: nothing. */
void layer_lay(const struct layer *l, size_t at, size_t n, uint8_t *to);

/* Rows of so many bytes, of elements of so many. */
struct layer_rows {
	size_t row, item;
	const uint8_t *fill; /* an element of it */
};

/* The same of what lies under the layer, to be done before: whole elements, those rows of them that
 * are all fill. */
void layer_lay_under(
	const struct layer *l, const struct layer_rows *, size_t at, size_t n, uint8_t *to);
/* Behind the last byte that was written, to the layer or under it. l NULL or nothing was: 0. */
size_t layer_end(const struct layer *);
/* Was anything written, to the layer or under it? */
bool layer_any(const struct layer *l);
/* Was any of bytes [from, to) written, to it or under it? l NULL: no. */
bool layer_touches(const struct layer *, size_t from, size_t to);
/* The first whole element of n bytes in [from, to) that was written and is not this one. SIZE_MAX:
 * none is. l NULL: none. */
size_t layer_find_other(
	const struct layer *l, size_t from, size_t to, const uint8_t *item, size_t n);
/* Was each of them written, to one layer or the other? Either may be NULL. */
bool layer_has(const struct layer *a, const struct layer *b, size_t at, size_t n);
/* Lays all of `upper` over `lower`. -ENOMEM: nothing happened, but that it may cost more. */
int layer_join(struct layer *lower, const struct layer *upper, size_t most);
