/* What other views need of the flat file. */
#pragma once

#include "view/view.h"

/* Bytes that an element of a variable-length type is padded to in this mount; 0 for other types.
 * Reads data once a version: of at most 1,000 chunks of 1 MiB, for a quarter of the mount's timeout
 * and 5 s at most. What is not measured so has the width of -o strlen. */
int flat_width(struct mount *, const struct node *, uint32_t *ret);
/* The same of the flat file: while it is open in a writable mount it gets no narrower. */
int flat_file_width(struct mount *, const struct node *, uint32_t *ret);
/* May flat_width read data on this thread? It may, unless this says no: then it gives -EAGAIN for a
 * width that is not known. */
void flat_may_measure(bool);
/* Bytes of a file of its elements behind so many others; SIZE_OF_UNREADABLE: too many, and opening
 * it says so. */
uint64_t flat_size(const struct node *, uint32_t width, uint64_t before);
/* The elements in the byte order that flat files have in this mount, behind a header. */
int flat_lay_out(struct mount *, const struct node *, uint32_t width, struct span header,
	struct layout **ret);
/* That order, unless it is each array's own. */
bool flat_is_big(const struct mount *);

/* --- of a writable mount --- */

/* The flat file with another length of the leading dimension than the metadata say. */
int flat_lay_out_grown(
	struct mount *, const struct node *, uint32_t width, uint64_t rows, struct layout **ret);
