/* dataset.cdl: what `ncdump -h` would print of a group and all below it. */
#pragma once

#include "base/clean.h"
#include "model/model.h"

struct mount;

/* Texts that were made lately, by the path of their group. */
struct cdl_text;

enum { CDL_TEXTS = 8 };

struct cdl_texts {
	pthread_mutex_t lock; /* guards slot, and the counts of all in it */
	struct cdl_text *slot[CDL_TEXTS];
};

void cdl_texts_init(struct cdl_texts *);
void cdl_texts_free(struct cdl_texts *);

/* Appends the text of a group (or of a single array); ret_mtime: of the newest node in it. */
int cdl_write(struct mount *, const struct node *, struct buf *ret, int64_t *ret_mtime);
