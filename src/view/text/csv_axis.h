/* A column of a CSV that tells where an element is in one dimension: the value of the coordinate
 * variable, the place that the metadata of an image give it, or the index. */
#pragma once

#include "data/array.h"
#include "view/text/csv_cell.h"
#include "view/netcdf/nc_axes.h"

struct mount;
struct variable;

struct axis {
	uint64_t size;
	char *name;
	uint32_t width;          /* bytes of the longest text */
	struct node *coordinate; /* NULL: its place, or the index, is shown */
	struct nc_axis place;    /* where metadata say it, and the store has no coordinate */
	struct cells cells;      /* one cell */
	uint32_t element_width;  /* of elements of variable length */
	struct buf missing; /* an element in native order that is shown as an empty field; empty:
			       none */
	/* once it is open */
	struct variable *variable; /* borrowed from the layout */
	struct stream *stream;
	_Atomic(char *) table; /* size texts of stride bytes, each behind its length; NULL: not
				  made, or too large to be */
	uint64_t stride;
};

/* From metadata alone (and the width of strings). */
int axis_new(struct mount *, const struct node *, unsigned dim, const char *name, struct axis *ret);
void axis_free(struct axis *);
/* Opens the coordinate variable; *ret, a reference or NULL, is the caller's and outlives the axis'
 * last use. */
int axis_open(struct mount *, struct axis *, struct variable **ret);
/* What decides its texts besides the elements. */
uint64_t axis_hash(const struct axis *, uint64_t h);

/* One reader's place. Start with {0}. */
struct axis_cursor {
	bool valid;
	uint64_t index; /* of text */
	struct buf text;
	struct buf window; /* elements from `first` on, in native order */
	uint64_t first, n;
};

void axis_cursor_free(struct axis_cursor *);
/* The text of index i; lives until the cursor's next use. want: for its deadline and its cancel. */
int axis_text(const struct axis *, struct axis_cursor *, const struct array_want *want, uint64_t i,
	struct span *ret);
/* The text of the place with index i. */
int axis_place(const struct axis *, uint64_t i, struct buf *ret);
/* axis_prepare comes next: a far store is asked while it is asked for something else too. */
void axis_expect(const struct axis *);
/* Decodes all coordinates once, if they are few enough. */
int axis_prepare(struct axis *, const struct array_want *);
