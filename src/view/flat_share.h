/* The leading dimension of a variable that grows: which variables share it, and what must be done
 * for them before the metadata say so. */
#pragma once

#include <stdint.h>

struct array;
struct cancel;
struct edit;
struct mount;
struct node;

/* All variables that share the leading dimension of an array node get so many rows, which are fill
 * in those that have none yet. Their chunks first, then the metadata. 0, also where there are as
 * many already; -ENOTSUP: it is another dimension than the first of one of them; -EIO: another
 * program has made the array shorter than `least` meanwhile, and may have removed what was stored.
 * From before that was stored no array gets shorter through this mount (view/growth.h). */
int flat_share_rows(
	struct mount *, const struct node *, uint64_t least, uint64_t rows, struct cancel *);
/* The same in two steps, for a caller that writes several of them: rows that come are fill, also
 * those of the node itself, before their elements are written; and the metadata know them, after
 * that. */
int flat_share_clear(struct mount *, const struct node *, uint64_t rows, struct cancel *);
int flat_share_commit(
	struct mount *, const struct node *, uint64_t least, uint64_t rows, struct cancel *);
/* They get fewer rows than the node has: the metadata first, then what the others were goes. */
int flat_share_fewer(struct mount *, const struct node *, uint64_t rows, struct cancel *);

/* --- flat_sought.c --- */

/* Commits an edit by which metadata count so many rows. Where another program has stored the
 * metadata since such rows were put: -EIO if some are no longer there. */
int flat_commit_rows(struct mount *, struct edit *, uint64_t rows, struct cancel *);
/* The same of rows that were put through the array and that another program may have counted. */
int flat_find_counted(
	struct mount *, const struct array *, const struct node *, uint64_t rows, struct cancel *);
