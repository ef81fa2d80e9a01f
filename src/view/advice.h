/* What is told where the URL that a user mounts is no store, or one that shows little. */
#pragma once

#include "base/url.h"

struct mount;
struct node;

/* Adds what may have been meant to the text of r, with which the store could not be opened. store:
 * as it was typed. Returns r. */
int advice_unopened(const struct url *, const char *store, int r);
/* The store is open and has nothing. -errno with a text; an object of that name in a bucket is
 * looked for. */
int advice_absent(struct mount *);
/* Warns where no store can be seen in what was opened. A far store is asked nothing more. */
void advice_on_root(struct mount *, const struct node *root);
