/* What has the elements and attributes of an image's variables: the inside of image_mount_ops
 * (images.h), whose arg is the open image. One call of an image at a time. */
#pragma once

#include "view/image/images.h"

struct image_new;
struct variable;

/* The elements of one variable. */
struct image_target {
	struct variable *variable; /* NULL: its array is not in the store's metadata yet */
	struct array *array;       /* the variable's; of a new one its own */
	struct node *node;         /* as it was, or will be */
	struct image_new *new;     /* of a new one: how it is to be stored */
	struct stream *stream;     /* made when it is first read */
	uint64_t least;            /* of one that grows: rows that it had when it was bound */
	bool counted;              /* metadata counted those that it grows to */
	int stored;                /* what came of the last flush of its array: see image_confirm */
	unsigned round; /* 1 + that of the image in which it was noted that it was written */
};

/* Takes over the reference to the variable, also when it fails. */
int image_target_new(struct variable *, struct image_target **ret);
void image_target_free(void *image, void *target);
/* The elements are those of that array node; of the array at that path, as it is now. */
int image_target_take(struct open_image *, struct image_target *, const struct node *);
int image_target_follow(struct open_image *, struct image_target *, const char *path);
/* Has the array been made shorter since the target was made? Then its elements are those that are
 * left; what waits behind them is lost, if it was another writer. */
bool image_target_was_cut(struct open_image *, struct image_target *);
/* The path of the file's group; the caller frees it. */
int image_group_path(const struct open_image *, char **ret);
/* Is the variable one that goes with what the file is for? */
bool image_is_companion(const struct open_image *, const struct image_target *);

/* --- image_bind.c --- */

/* The source of a variable that the file had before, and of one that is new. */
int image_bind_known(
	struct open_image *, const struct change *, size_t var, struct image_form *now);
int image_bind_new(struct open_image *, const struct change *, size_t var, struct image_form *now);
/* It can be one when others have their names. */
int image_bind_later(struct open_image *, const struct change *, size_t var);
/* Which variables of a file go with the one of that name: itself, what its dimensions are called,
 * and what the CF attributes of these name. The caller frees the list. */
int image_bind_with(const struct nc_file *, const char *name, bool **ret);
/* Is the variable what the file is for? */
bool image_is_own(const struct open_image *, const struct image_form *now, size_t var);

/* --- image_flush.c --- */

/* What was written to the form's variables becomes durable, side by side; all are waited for, and
 * the first error is returned. */
int image_flush(struct open_image *, const struct image_form *, const struct array_want *how);
/* See image_ops. */
void image_form_know(const struct image_form *, int code, uint64_t upto, _Atomic(uint64_t) *heard);
int image_form_hear(const struct image_form *, bool wrote, _Atomic(uint64_t) *heard);
/* None of its arrays has become another one meanwhile: those are looked at of which all could be
 * stored. stored: an error that came before this one, or 0. */
int image_confirm(
	struct open_image *, const struct image_form *, int stored, const struct array_want *how);

/* --- image_begun.c --- */

/* Chunks of new arrays come before anything says that these are there. -ENOTSUP: they may not. */
int image_new_begin(void *image, const struct image_form *now);
/* The arrays are not to be: what is stored of them goes, of those that are not there. */
void image_new_undo(void *image, const struct image_form *now);
/* Do metadata say that there is something at the path, looked at now? 0: they do; ZMAP_ABSENT: they
 * do not, whatever chunks lie there. */
int image_new_is_there(struct mount *, const char *path);
/* They are there. */
void image_new_made(const struct image_form *now);

/* --- image_move.c --- */

/* Can the array of a variable be called what that is called now? 0, -EINVAL. */
int image_move_check(struct open_image *, const struct change *, size_t var);
/* The same of all dimensions, in every array that has them. */
int image_move_check_dims(struct open_image *, const struct change *);
/* Is the name of a new variable, or of one of its dimensions, free only when others have theirs? */
bool image_move_awaited(struct open_image *, const struct change *, size_t var);
/* Arrays and dimensions get the names that change->now has: see image_ops.rename. */
int image_move(struct open_image *, const struct change *, struct image_form *was,
	const struct array_want *);
/* The same of dimensions that had to grow before. */
int image_move_late(struct open_image *, const struct change *);
/* Arrays of the file's group whose variables it lacks are removed. */
int image_move_drop(struct open_image *, const struct change *);

/* --- image_edit.c --- */

/* All that has changed but values and lengths. commit: else it is only looked whether that could
 * be. */
int image_edit_all(
	struct open_image *, const struct change *, bool commit, const struct array_want *how);
