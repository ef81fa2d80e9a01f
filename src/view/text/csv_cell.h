/* Elements as fields of CSV (RFC 4180): complex and structured ones are several. Immutable once
 * made; any thread. */
#pragma once

#include "base/buf.h"
#include "model/cf.h"

struct cell {
	enum dtype_kind kind;
	uint32_t size, offset; /* of its bytes in the element */
	uint32_t width;        /* bytes of the longest text */
	bool is_time;          /* shown as a date where it has one */
	struct cf_time time;
};

struct cells {
	struct cell *cell;
	size_t n;
	uint32_t element;  /* bytes */
	struct dtype swap; /* what turns an element into native order */
	bool swaps;
	uint64_t width; /* of all, without commas */
};

/* width: of elements of variable length, else 0. -ENOTSUP: no text for such elements; -EFBIG: too
 * many or too long. */
int cells_new(const struct dtype *, uint32_t width, struct cells *ret);
void cells_free(struct cells *);
/* What the attributes of the variable say of its numbers: they may be times. datetime64 always
 * is. */
void cells_count_time(struct cells *, const struct attrs *);
/* What decides the texts besides the elements' type. */
uint64_t cells_hash(const struct cells *, uint64_t h);
/* ",NAME" for each cell: NAME is the variable's, with ".real", ".FIELD", ".FIELD.0" behind it where
 * there is more than one. */
int cells_header(const struct dtype *, const char *name, struct buf *ret);

/* Turns n elements into native order. */
void cells_native(const struct cells *, void *elements, uint64_t n);
/* The text of one cell of an element in native order, at most cell->width bytes; none of what is no
 * time. -EIO: it has none. */
int cell_text(const struct cell *, const uint8_t *element, char *to, size_t *ret_len);
/* The same value: all NaN are one, and so are the zeros. */
bool cells_same(const struct cells *, const uint8_t *a, const uint8_t *b);
/* A name or value in quotes where RFC 4180 wants them. */
int csv_quoted(const char *text, size_t len, struct buf *ret);
