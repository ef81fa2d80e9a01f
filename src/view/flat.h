/* What other views need of the flat file. */
#pragma once

#include "view/view.h"

/* Bytes that an element of a variable-length type is padded to in this mount; 0 for other types. May read data, once a version. */
int flat_width(struct mount *, const struct node *, uint32_t *ret);
/* Adds the elements of a variable in the byte order that flat files have in this mount. Takes over the reference, also when it fails. */
int flat_add(struct mount *, struct layout *, struct variable *);
/* That order, unless it is each array's own. */
bool flat_is_big(const struct mount *);
