/* netCDF files of a writable mount that are open for writing: what all handles of one share, and
 * what failed. One for each path, counted; any thread. */
#pragma once

#include "base/err.h"
#include "view/image/image.h"
#include "view/mount.h"

struct images;
struct nc_plan;
struct spill;
struct viewed_all;

struct open_image {
	struct open_image *next;
	unsigned users, writers; /* these, next and given_up under the table's lock */
	unsigned leaving;        /* writers whose handles are being released */
	unsigned opened;         /* how often it was opened for writing */
	bool given_up; /* what failed was forgotten: no path leads here, and nothing is stored */
	struct mount *mount;
	char *path; /* in the mount */
	const struct view_ops *view;
	bool adds;         /* a file that there was not: what it lacks stays */
	bool shares;       /* variables that go with the file's own belong to others, too */
	bool grows;        /* no array gets shorter, while its image settles rows */
	struct node *node; /* of which the file was, when it was opened */
	uint64_t version;  /* of the layout then: the kernel's pages and numbers go by it */
	bool of_group;
	char *own; /* of a new file: the variable that it must have; else NULL */
	struct image *image;
	atomic_llong written; /* ns, clock_wall(): the file's mtime */
	atomic_uint round;    /* others were told so many times */
	struct buf touched; /* paths of nodes that were written since then, each with its NUL; under
			       the table's lock */
};

int images_new(struct images **ret);
struct images *images_free(struct images *);
struct viewed_all *images_viewed(struct images *); /* by the handles of all */

/* That of the path, held; NULL: there is none. */
struct open_image *images_find(struct mount *, const char *path);
/* Begins one, or finds the one that another thread has begun meanwhile; held. */
int images_begin(struct mount *, const struct entry *, struct open_image **ret);
/* What is written elsewhere, whole, becomes the file of the path: one that there is, or a new one,
 * NAME.nc with a variable NAME, or dataset.nc. */
int images_take_in(struct mount *, const char *path, struct spill *, const struct array_want *how);
/* The beginning of a new file, which is to be taken in so: what follows goes to its variables as it
 * comes, by image_write, and image_settle makes them. The spill, which outlives it, is empty
 * meanwhile. ZMAP_ABSENT: it cannot be. */
int images_stream(struct mount *, const char *path, struct spill *, const struct array_want *how,
	struct open_image **ret);
/* What is not settled goes; NULL allowed. */
void images_end(struct open_image *);
/* Others hear of what it has stored. */
void images_tell(struct open_image *);
/* One user less; a writer less. The last one ends it. */
void images_put(struct open_image *, bool writer);
void images_add_writer(struct open_image *);
/* A writer's handle is being released: is it the last one? *ret: as images_opened says. */
bool images_leave(struct open_image *, unsigned *ret);
/* How often it was opened for writing: more than before, and another writer has come since. */
unsigned images_opened(struct open_image *);
/* Elements of the node were written. */
int images_touch(struct open_image *, const char *node_path);
/* Those that were since it was last asked; the caller frees them. */
struct buf images_touched(struct open_image *);
/* All there are, held; ends with NULL. The caller puts them and frees the list. */
int images_all(struct mount *, struct open_image ***ret);

/* The file fails with the thread's err_text from now on, also when it is opened again, until
 * images_unstick. Returns code. */
int images_stick(struct mount *, const char *path, int code);
/* The same by an open file, of which nothing sticks when it was given up. */
int images_fail(struct open_image *, int code);
/* 0, or what failed, with its text. */
int images_stuck(struct mount *, const char *path);
/* The same of a file below the folder, open or not. */
int images_stuck_below(struct mount *, const char *dir);
/* The same of an open file; -ESTALE: it was given up. */
int images_usable(struct open_image *);
/* Its changes are lost: an open of the path finds the store from now on. Its own handles read on,
 * and write no more. */
void images_give_up(struct open_image *);
/* Of all that failed, as mount_lost. */
int images_lost(struct mount *, struct buf *said);
/* It fails no longer; path NULL: none does, and what was given up with that is said. */
void images_unstick(struct mount *, const char *path, struct buf *said);

/* --- image_store.c --- */

extern const struct image_ops image_mount_ops; /* arg: the open_image */
/* The form of the file that the plan says; its sources hold their variables. The plan is empty
 * afterwards. */
int image_form_of(struct open_image *, struct nc_plan *, struct image_form **ret);
