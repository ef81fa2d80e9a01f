/* A netCDF classic file that is being written: what it showed when that began, beneath what was
 * written to it.
 *
 * As long as nothing waits, data go through to their variables at once. What changes the header,
 * lies past the end or follows such a write waits until it means something: then variables are
 * compared by name with what the file showed, and what differs is stored. One image for all handles
 * of the file; any thread, one call after the other. What stores is told by a table: see
 * image_ops. */
#pragma once

#include "view/image/image_change.h"

struct image;
struct viewed;
struct spill;

struct image_ops {
	struct image_store store;
	/* Finds out where the elements of each variable of change->now are, and how they are
	 * stored: fills its sources. -EINVAL: one cannot become that. Nothing is changed in the
	 * store. */
	int (*bind)(void *arg, const struct change *, struct image_form *now,
		const struct array_want *how);
	/* Variables and dimensions that have other names under the new header get these, one after
	 * the other, and in `was`, which is change->was, each as soon as it is so. Nothing else of
	 * the change is stored. NULL: none can. */
	int (*rename)(void *arg, const struct change *, struct image_form *was,
		const struct array_want *how);
	/* All values have gone to the sources: they are stored, and then what changed in the
	 * metadata. */
	int (*commit)(void *arg, const struct change *, const struct array_want *how);
	/* Elements of a bound form of which all variables are new are about to be written long
	 * before `commit`. 0; -errno: that cannot be. NULL: never. */
	int (*begin)(void *arg, const struct image_form *now);
	/* What `bind` was called for has ended, whatever came of it. NULL: that is nothing. */
	void (*done)(void *arg);
	/* They are not to be, after all. */
	void (*undo)(void *arg, const struct image_form *now);
	/* What is read from now on is what is stored by now. NULL: it always is. */
	void (*expire)(void *arg);
	/* What went through is stored. */
	int (*flush)(void *arg, const struct image_form *, const struct array_want *how);
	/* array_know and array_hear of all its arrays; of these the first error. */
	void (*know)(const struct image_form *, int code, uint64_t upto, _Atomic(uint64_t) *heard);
	int (*hear)(const struct image_form *, bool wrote, _Atomic(uint64_t) *heard);
};

struct image_start {
	struct image_form *form; /* what the file shows; taken over; NULL: nothing, it is new */
	size_t own;  /* the variable that the file is for; CHANGE_NONE: it is a group's */
	size_t most; /* bytes that may wait over what it shows, or lie in memory of what replaces
			it */
	bool keep;   /* what replaces a group's file lacks is not deleted either */
	struct spill *instead; /* what replaces all of it at once; outlives the image; NULL: nothing
				  yet */
	const struct image_ops *ops;
	void *arg;
};

int image_new(const struct image_start *, struct image **ret);
struct image *image_free(struct image *); /* NULL allowed; returns NULL */

uint64_t image_size(struct image *);
/* Do bytes go to new variables as they come? */
bool image_flows(struct image *);
/* Would those of a file that begins so, if it has only new variables? It is larger than what may
 * wait, and by its header most of it is to come. */
bool image_would_flow(const struct spill *, size_t most, uint64_t before);
/* Begins to let them, in a new image of which image_would_flow. ZMAP_ABSENT: it cannot be. */
int image_flow(struct image *, const struct array_want *how);
/* All that came is in image_start.instead again. -errno: nothing has changed. */
int image_flow_back(struct image *, const struct array_want *how);
/* Does anything wait for its meaning? */
bool image_waits(struct image *);
/* Did it begin empty, and is it still? */
bool image_is_blank(struct image *);
/* Bytes of the file as its writers see it; *ret_len: how many there are. seen: of the handle, as
 * below; NULL: nothing is known of it. */
int image_read(struct image *, const struct array_want *want, struct viewed *, uint8_t *to,
	size_t *ret_len);
/* What the handle has seen goes, with it. */
void image_leave(struct image *, struct viewed *);
/* All or nothing; bytes of variables that are as the handle has seen them are not written, others'
 * may be there by now. -ERANGE: no element has such a value. -EFBIG: too much waits. */
int image_write(
	struct image *, uint64_t off, struct span, struct viewed *, const struct array_want *how);
/* The same of a page that a program has mapped: what differs from how->shown, or from what there is
 * now where that is NULL. */
int image_write_page(struct image *, uint64_t off, struct span, const struct array_want *how);
/* longer: unless it is that long. */
int image_truncate(struct image *, uint64_t size, bool longer, const struct array_want *how);

enum image_why {
	IMAGE_FLUSH, /* a program wants to know whether all is stored */
	IMAGE_LOOK,  /* another file is about to be read that shows the same: what cannot be settled
			goes on waiting, and is no error */
};
/* -EINVAL: what waits has no meaning; nothing was changed, and it goes on waiting. */
int image_settle(struct image *, enum image_why, const struct array_want *how);
/* See image_ops. */
void image_know(struct image *, int code, uint64_t upto, _Atomic(uint64_t) *heard);
int image_hear(struct image *, bool wrote, _Atomic(uint64_t) *heard);
