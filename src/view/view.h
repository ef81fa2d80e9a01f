/* Files as spans: what a virtual file consists of, and reading any part of it.
 *
 * A view lays a node out as a list of spans {length, source, conversion}; everything else (reading across spans, partial
 * elements, sizes) is here, once. A layout is immutable, counted, and has a version: two layouts of one path with
 * different versions never share kernel pages. */
#pragma once

#include "data/array.h"

enum convert { CONVERT_NONE, CONVERT_SWAP }; /* later: widen, one field, time, UTF-8, a CSV line */

struct variable;

struct layout_span {
	uint64_t start, length;    /* bytes in the file */
	struct variable *variable; /* its elements from the first; NULL: text */
	enum convert convert;
	struct dtype swap; /* CONVERT_SWAP: what to swap, see convert.h; owned */
	char *text;        /* length bytes, owned; NULL and no variable: zeros */
};

struct layout {
	atomic_uint refs;
	uint64_t size, version;
	struct layout_span *span;
	size_t nspans;
};

/* Empty; spans are added in file order by the one thread that makes it, before anybody reads. */
int layout_new(uint64_t version, struct layout **ret);
/* Takes over the reference to the variable, also when it fails. swap NULL: bytes as they are stored; else copied. */
int layout_add_variable(struct layout *, struct variable *, const struct dtype *swap);
/* Takes over text, also when it fails. NULL: zeros. */
int layout_add_text(struct layout *, char *text, uint64_t length);
struct layout *layout_ref(struct layout *);
struct layout *layout_unref(struct layout *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct layout, layout_unref)

struct node;
struct mount;

struct view_ops {
	const char *suffix;                   /* "" for the flat file, ".nc", … */
	bool listed;                          /* by default */
	bool (*applies)(const struct node *); /* NULL: to every variable */
	/* Size without touching data; opens nothing. ret_version changes whenever bytes of the same file could mean something else. */
	int (*measure)(
		struct mount *, const struct node *, uint64_t *ret_size, uint64_t *ret_version);
	int (*lay_out)(struct mount *, const struct node *, struct layout **ret);
};

extern const struct view_ops *const view_table[]; /* generated; NULL last; the flat file first */

/* One reader of a layout; may be used by many threads at once. */
struct view_reader;
int view_reader_new(struct layout *, struct view_reader **ret); /* takes a reference */
struct view_reader *view_reader_free(struct view_reader *);
/* ret is empty before. Past the end: a shorter or empty reply. What ret points to lives until reply_done, or the reader's end. */
int view_read(struct view_reader *, const struct array_want *, struct reply *ret);
struct layout *view_layout(struct view_reader *); /* borrowed */
