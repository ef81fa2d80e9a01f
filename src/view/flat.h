/* What other views need of the flat file. */
#pragma once

#include "view/view.h"

/* Bytes that an element of a variable-length type is padded to in this mount; 0 for other types. May read data, once a version. */
int flat_width(struct mount *, const struct node *, uint32_t *ret);
