/* Layouts that were made lately, so that looking at a file and opening it make its layout once: by
 * path and view, for as long as the metadata that they were made of hold. Bounded by bytes, a share
 * of the mount's memory. Any thread. */
#pragma once

#include "base/map.h"
#include "view/view.h"

struct kept_layout;

/* What there is of one: the layout, what it said of its file, or a layout that is too large to be
 * kept, for as long as another has it. */
enum layout_is { LAYOUT_WHOLE, LAYOUT_BARE, LAYOUT_LENT, LAYOUT_KINDS };

/* By when they were asked for. */
struct kept_list {
	struct kept_layout *oldest, *newest;
};

struct layouts {
	pthread_mutex_t lock; /* guards all below */
	struct map by_path;
	struct kept_list list[LAYOUT_KINDS];
	uint64_t moment; /* of all in it: a number for the metadata that hold in the mount */
	size_t bytes;
	uint64_t made, reused; /* so far */
};

void layouts_init(struct layouts *);
void layouts_free(struct layouts *);

/* A file that a view makes of a node. */
struct view_file {
	const struct view_ops *view;
	const struct node *node;
	const char *path; /* in the mount */
};

/* What it is. 0; ZMAP_ABSENT: the node has no such file; -errno. */
int layouts_facts(struct mount *, const struct view_file *, struct view_facts *ret);
/* Its layout, a reference. 0 or -errno. */
int layouts_get(struct mount *, const struct view_file *, struct layout **ret);
/* Gives such a reference back, so that what is large is not kept. NULL is allowed. */
void layouts_put(struct mount *, struct layout *);
/* The same after another has given it back. */
void layouts_settle(struct mount *);
/* Lets go of all but what is lent, and of the nodes that they hold. */
void layouts_drop(struct mount *);
/* Bytes that are kept, roughly. */
size_t layouts_bytes(struct mount *);
/* Lines of .zarrfs/stats. */
int layouts_stats(struct mount *, struct buf *ret);
