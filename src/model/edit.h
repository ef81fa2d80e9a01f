/* Changes of a store's metadata: attributes, sizes, new nodes, removed ones.
 *
 * An edit is a list of changes to one node, which one thread owns. Nothing is stored before
 * edit_commit, which lays them over the documents as they then are, each on condition that it is
 * still what was read: where another writer was faster it reads again. Only what is meant to change
 * changes; all else in a document stays byte for byte. Documents are stored in an order in which
 * none promises what another one does not hold yet; consolidated metadata last, and they are
 * brought up to date, not only patched.
 *
 * After a commit the model's own nodes are renewed at once, and model_on_change is told as of a
 * foreign change; model_is_own tells them apart. Where a commit fails in the middle, what was
 * stored before stays: the same edit made again completes it.
 *
 * Errors: -EIO where another writer changed what the edit is about (the text says what), -ENOTSUP
 * for generations of NCZarr that are not written, -EPERM for names that the formats keep for
 * themselves, -EROFS, -EACCES … as the store says. */
#pragma once

#include "model/model.h"

struct edit;

/* Reads the documents of a group or array as they are now. 0; ZMAP_ABSENT: no such node; -errno. */
int model_edit(struct model *, const char *path, struct edit **ret);
struct edit *edit_free(struct edit *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct edit, edit_free)
/* The node that the edit is about, as it was when it began: of its own documents, not of
 * consolidated ones. Borrowed. */
const struct node *edit_node(const struct edit *);

/* The attribute is copied. Its type is that of the one it replaces where the value fits that
 * (recorded ones in NCZarr, whole or not in JSON); a text of a dict or list that was JSON stays
 * JSON. -EPERM: the name is the format's own; -EINVAL: no name or value. */
int edit_set_attr(struct edit *, const struct attr *);
int edit_del_attr(struct edit *, const char *name); /* what is not there is deleted already */

/* Zarr V2: what missing chunks hold; NULL: nothing is said of that. The element is copied, in the
 * dtype's byte order. -EINVAL: a chunk is missing, which would hold something else then. */
int edit_set_fill(struct edit *, const uint8_t *fill);

/* The leading dimension of an array gets another length. NCZarr: wherever the dimension is used,
 * and in the group that declares it. Else: of this array and of those that edit_resize_with names.
 * One that is longer by then stays as long where it was to grow, and is an error where it was to
 * shrink. Where growth fails because the array is shorter by then, the others that it has made
 * longer are as long as before, unless other writers have stored them since. -EINVAL: not an array,
 * or one without dimensions. Chunks are the caller's: those of what grows are stored before the
 * commit, those of what shrinks deleted after. */
int edit_resize(struct edit *, uint64_t lead);
/* To no less than that: another writer may have made it longer before the edit began. */
int edit_grow(struct edit *, uint64_t lead);
/* It is an error if another writer has made it shorter than that by then. */
void edit_expect(struct edit *, uint64_t lead);
/* Called for each array that grows, as it is just before that is stored on condition that it is
 * still so; what fails fails the commit. It may be called again for another attempt. */
typedef int edit_check_fn(const struct node *, void *arg);
void edit_check(struct edit *, edit_check_fn *, void *arg);
int edit_resize_with(struct edit *, const char *path);
/* Did the last commit fail because another writer has changed the length that was to shrink? What
 * else has the dimension may be as short as it was to be. */
bool edit_was_overtaken(const struct edit *);
/* Length of the leading dimension after the last commit. */
uint64_t edit_lead(const struct edit *);

/* An array that is to be. All is borrowed until the edit is freed. */
struct new_array {
	struct dtype dtype; /* as it is stored, its byte order too; is_char: netCDF's char */
	unsigned rank;
	const uint64_t *shape;
	const uint64_t *chunk; /* at least 1 everywhere */
	const uint64_t *shard; /* V3: elements of a stored object that holds many chunks; NULL: each
				  is one */
	const char *const *dim; /* simple names, NULL among them: none; NULL: no names at all */
	const bool *unlimited;  /* NULL: none is */
	const char *codecs;     /* JSON list of V2's codecs, in order of encoding, in V3 as V3 calls
				   them; NULL: none */
	const uint8_t *fill;    /* an element in the dtype's byte order; NULL: null, in V3 zeros */
	char separator;         /* between chunk indices; 0: '.' in V2, '/' in V3 */
	const struct attrs *attrs; /* NULL: none */
};

/* A new array in the group that the edit is about. NCZarr: dimensions are the group's or those
 * above it that have the name and the size, else the group declares them. -EEXIST at the commit:
 * something of that name is there. -ENOTSUP: the dialect has no such type, codec or name. Chunks
 * may be stored before: they are those of the node that model_plan_array makes. */
int edit_new_array(struct edit *, const char *name, const struct new_array *);
/* Of a new hierarchy: what it is to be. */
struct new_group {
	unsigned zarr_format; /* 2 or 3 */
	bool nczarr;          /* of format 2 */
};
/* A group; in a hierarchy of its kind, else `top` says which. -EEXIST, also for a folder that is
 * not empty. */
int model_new_group(struct model *, const char *path, const struct new_group *top, int64_t deadline,
	struct cancel *);
/* The node that a new array will be, once its unlimited dimensions have grown to what it has of
 * them. Nothing is stored. */
int model_plan_array(struct model *, const char *path, const struct new_array *, struct node **ret);
int model_new_array(struct model *, const char *path, const struct new_array *, int64_t deadline,
	struct cancel *);
/* An array with its chunks, or a group that nothing is in (-ENOTEMPTY). -EBUSY: the root. */
int model_remove(struct model *, const char *path, int64_t deadline, struct cancel *);

/* Another name in the same group, with all that is stored of it. -EEXIST: there is something of
 * that name, other than copies of its chunks that an attempt which broke off has left. -ENOTSUP:
 * where nothing is listed. */
int model_move_array(struct model *, const char *from, const char *name, struct cancel *);
/* It is only looked whether that could be. */
int model_may_move(struct model *, const char *from, const char *name, struct cancel *);

/* Dimension `at` of an array gets another name, in every array that has it: of pure Zarr those of
 * the group. -EINVAL: there is one of that name, or this one's is not stored as a name. plan: it is
 * only looked whether that could be. */
int model_rename_dim(struct model *, const char *array, unsigned at, const char *name, bool plan,
	struct cancel *);

/* Could its attributes be committed, as far as the documents say that now? Nothing is stored; new
 * arrays and sizes are not looked at. */
int edit_plan(struct edit *, struct cancel *);

/* deadline: clock_now() clock, 0: the store's own. An edit without changes costs nothing. May be
 * called again after a failure. */
int edit_commit(struct edit *, int64_t deadline, struct cancel *);

/* Does the node (NULL: its absence) at path stem from a commit of this model, lately? For callers
 * that model_on_change tells. */
bool model_is_own(struct model *, const char *path, const struct node *);
