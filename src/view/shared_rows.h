/* The inside of flat_share.c and flat_fewer.c: arrays that share a leading dimension and get
 * another length. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "model/edit.h"
#include "view/mount.h"

struct array_behind;
struct flat;
struct layout;

struct shared_rows {
	struct mount *mount;
	const struct node *of;
	uint64_t rows;
	bool fewer;     /* the arrays get fewer rows than they have … */
	uint64_t was;   /* … which are at most so many */
	uint64_t least; /* metadata that count fewer by now are another program's, and refused */
	bool overtaken; /* by the time of the commit they were not as long as they had been seen */
	bool more; /* another array has more rows already than were asked for: all get as many */
	struct buf paths;   /* of the others, each with its NUL */
	struct buf unequal; /* the same of arrays that may be others */
	/* Of arrays that get fewer: what is stored behind their end, the node's first. */
	struct array_behind **behind;
	size_t n, trimmed, told;
	struct err why; /* they could not be made shorter */
	/* The files of all arrays that get fewer; this thread has their turns to grow. */
	struct flat **flat;
	size_t flats;
};

typedef int shared_fn(struct shared_rows *, struct cancel *);
typedef int shared_each_fn(struct shared_rows *, const char *path, struct cancel *);

/* fn with the paths of the others found, as they are now. */
int shared_rows_with(struct shared_rows, shared_fn *fn, struct cancel *);
/* The same of each that shares the dimension. */
int shared_rows_each(struct shared_rows *, shared_each_fn *fn, struct cancel *);
/* The variable at a path, as it is now. ZMAP_ABSENT: it is gone. */
int shared_rows_look(
	const struct shared_rows *, const char *path, struct node **ret_node, struct layout **ret);
/* The metadata of all. */
int shared_rows_commit(
	struct shared_rows *, int (*resize)(struct edit *, uint64_t), struct cancel *);
