/* Files as spans: what a virtual file consists of, and reading any part of it.
 *
 * A view lays a node out as a list of spans {length, source, conversion}; everything else (reading across spans, partial
 * elements, sizes) is here, once. A layout is immutable, counted, and has a version: two layouts of one path with
 * different versions never share kernel pages. */
#pragma once

#include "data/array.h"

enum convert { CONVERT_NONE, CONVERT_SWAP }; /* later: widen, one field, time, UTF-8, a CSV line */

struct layout_span {
	uint64_t length;         /* bytes in the file */
	struct array *array;     /* elements from its first; NULL: text */
	enum convert convert;
	char *text;              /* length bytes, owned; NULL and no array: zeros */
};

struct layout {
	atomic_uint refs;
	uint64_t size, version;
	struct layout_span *span;
	size_t nspans;
};

struct layout *layout_ref(struct layout *);
struct layout *layout_unref(struct layout *);

struct node;
struct mount;

struct view_ops {
	const char *suffix;      /* "" for the flat file, ".nc", … */
	bool listed;             /* by default */
	bool (*applies)(const struct node *);
	/* Size without touching data; opens nothing. ret_version changes whenever bytes of the same file could mean something else. */
	int (*measure)(struct mount *, const struct node *, uint64_t *ret_size, uint64_t *ret_version);
	int (*lay_out)(struct mount *, const struct node *, struct layout **ret);
};

extern const struct view_ops *const view_table[]; /* NULL last; the flat file first */

/* One reader of a layout. */
struct view_reader;
int view_reader_new(struct layout *, struct view_reader **ret); /* takes a reference */
struct view_reader *view_reader_free(struct view_reader *);
int view_read(struct view_reader *, const struct array_want *, struct reply *ret);
