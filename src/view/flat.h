/* What other views need of the flat file. */
#pragma once

#include "view/view.h"

/* Bytes that an element of a variable-length type is padded to in this mount; 0 for other types. May read data, once a version. */
int flat_width(struct mount *, const struct node *, uint32_t *ret);
/* Bytes of a file of its elements behind so many others; SIZE_OF_UNREADABLE: too many, and opening it says so. */
uint64_t flat_size(const struct node *, uint32_t width, uint64_t before);
/* The elements in the byte order that flat files have in this mount, behind a header. */
int flat_lay_out(struct mount *, const struct node *, uint32_t width, struct span header,
	struct layout **ret);
/* That order, unless it is each array's own. */
bool flat_is_big(const struct mount *);
