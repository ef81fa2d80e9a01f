/* New names of a writable mount: files of its own, whose content is seen nowhere else until it is
 * taken in, when it is renamed over what the store has, or when a file NAME.nc with a variable NAME
 * is closed. And names of netCDF files that were unlinked, for a while. Any thread. scratches.c has
 * the table of them, scratch.c what is done with one. */
#pragma once

#include "view/image/images.h"
#include "view/image/spill.h"
#include "view/image/turn.h"

struct scratches;

struct scratch {
	struct scratch *next;
	unsigned users; /* open files; down to `taken` all is under the lock of the table */
	bool named;
	char *path;
	uint64_t version; /* of its inode: never the same again */
	bool taken; /* what it holds has become what its path names, and what is written to it still
		       does; then next is of those */
	struct turn turn; /* of the call that is under way: the rest is its own */
	struct spill bytes;
	struct open_image *image; /* its bytes go to variables as they come, or went; NULL: they are
				     in `bytes` */
	bool waits;               /* they did not, and will not */
	struct file *flat;        /* of the flat file that it has become: what is written goes there
				     as well; NULL: it has not, or no handle may write */
	struct err refused;       /* what was written is not all there; code 0: it is */
	atomic_ullong size;       /* theirs: these are read without a turn */
	atomic_llong mtime;
	atomic_uint writers; /* handles that may write to it */
	atomic_bool changed; /* since it was last looked at whether it can be taken in */
};

int scratches_new(struct scratches **ret);
struct scratches *scratches_free(struct scratches *);

/* One user more of the file of that path; NULL: there is none. */
struct scratch *scratches_hold(struct mount *, const char *path);
void scratches_put(struct mount *, struct scratch *); /* NULL allowed */
/* A new one, held. -EEXIST. */
int scratches_make(struct mount *, const char *path, struct scratch **ret);
/* The paths in a directory, NULL: all there are, each with its NUL. */
int scratches_paths(struct mount *, const char *dir, struct buf *ret);
/* All that were taken in and are still open, held; ends with NULL. The caller puts them and frees
 * the list. */
int scratches_taken(struct mount *, struct scratch ***ret);
/* What its path is now, of one that has a name or was taken in, else NULL; the caller frees it. */
char *scratches_target(struct mount *, struct scratch *);
bool scratches_is_taken(struct mount *, struct scratch *);
/* The name is gone; handles that are open go on. */
void scratches_unname(struct mount *, struct scratch *);
/* To a name that is free, or that of another scratch. */
int scratches_move(struct mount *, struct scratch *, const char *to);
/* Its content has been taken in as that of the path, which others know now. */
void scratches_become(struct mount *, struct scratch *, const char *path);

/* A name of the store is not there for a while: a program that removes a file to make it anew does
 * so at once. */
int scratches_hide(struct mount *, const char *path);
bool scratches_hides(struct mount *, const char *path);
/* As struct file_kind's. */
void scratches_gone(struct mount *, const char *path);

size_t scratch_dir_len(const char *path); /* of the path of its directory */

/* --- scratch_put.c; all but these three in turn --- */

/* A handle more that may write, by that path; what the file becomes while it waits for its turn it
 * goes on to, as those do that were open before. -ESTALE: too late for that. */
int scratch_add_writer(struct mount *, struct scratch *, const char *path, bool truncates);
int scratch_write(struct mount *, struct scratch *, uint64_t off, struct span,
	const struct array_want *how, unsigned flags);
/* longer: if it is shorter. To nothing: what was refused before counts no more. */
int scratch_resize(struct scratch *, uint64_t size, bool longer);
/* 0, or why a write was refused: the file is not what its writers made. */
int scratch_refused(const struct scratch *);
/* Its turn, until turn_give; only if no write was refused. */
int scratch_take(struct scratch *, int64_t deadline);
/* Its bytes become those of a flat file, as O_TRUNC and write would put them. */
int scratch_put_flat(
	struct mount *, struct scratch *, const struct entry *to, const struct array_want *how);
/* What was written to it since then is in the store, or why it is not. */
int scratch_settle_flat(struct scratch *, enum settle_why, const struct array_want *how);
/* Bytes of the file, *ret_n of them that there are. */
int scratch_content(struct scratch *, const struct array_want *want, uint8_t *to, size_t *ret_n);
/* All bytes are the file's own: they get another meaning, or none yet. */
int scratch_take_back(struct scratch *, const struct array_want *how);
/* What was written and is no whole file goes. */
void scratch_drop_image(struct scratch *);
/* Is a file of that name taken in? One in the directory of rsync --delay-updates is not: it is
 * moved to its own name next. */
bool scratch_is_netcdf(const char *path);
