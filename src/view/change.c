/* What a writable mount changes of metadata: attributes, groups. */
#include "model/attr_edit.h"
#include "model/edit.h"
#include "view/change.h"
#include "view/flats.h"
#include "view/kind.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

/* --- groups and arrays --- */

/* Names that the store keeps for itself, the mount for its own files, or views for theirs. */
static int
may_make(struct mount *m, const char *path)
{
	if (!m->options.rw)
		return err_set(-EROFS, "the mount is read-only");
	if (atomic_load(&m->root_is_array))
		return err_set(-EPERM, "the store is a single array");
	if (!strcmp(path, ".zarrfs") || !strcmp(path, ".store") || !strncmp(path, ".zarrfs/", 8) ||
		!strncmp(path, ".store/", 7))
		return err_set(-EACCES, "'%s' is not in the store", path);
	return 0;
}

static int64_t
deadline(const struct mount *m)
{
	return clock_now() + m->options.data.timeout;
}

int
mount_mkdir(struct mount *m, const char *path, struct entry *ret)
{
	const struct new_group top = {
		.zarr_format = m->options.zarr_format,
		.nczarr = m->options.zarr_format == 2 && !(m->url.mode & URL_ZARR),
	};
	int r = may_make(m, path);
	if (r == 0)
		r = model_new_group(m->model, path, &top, deadline(m), NULL);
	if (r == 0)
		r = data_sync(m->data, m->zmap);
	if (r == 0)
		r = mount_lookup(m, path, ret);
	return mount_write_error(r == ZMAP_ABSENT ? err_set(-EIO, "'%s' is not there", path) : r);
}

static int
remove_node(struct mount *m, const struct node *n)
{
	/* however many chunks it has: each of them has its time */
	int r = model_remove(m->model, n->path, 0, NULL);
	if (r == ZMAP_ABSENT)
		r = err_set(-ENOENT, "'%s' is gone", n->path);
	if (r == 0)
		kinds_gone(m, mount_path(m, n->path));
	return r < 0 ? r : data_sync(m->data, m->zmap);
}

/* A new file that is in no store yet is in the group all the same. */
static int
holds_name(void *arg, const char *name, uint64_t ino, unsigned char type)
{
	return err_set(-ENOTEMPTY, "'%s' is in it", name);
}

int
mount_rmdir(struct mount *m, const char *path)
{
	struct entry e = {0};
	int r = may_make(m, path);
	if (r == 0)
		r = mount_lookup(m, path, &e);
	if (r == ZMAP_ABSENT)
		r = err_set(-ENOENT, "there is no '%s'", path);
	else if (r == 0 && (!e.node || e.kind != ENTRY_DIR))
		r = err_set(-ENOTDIR, "'%s' is no group", path);
	else if (r == 0 && e.node->kind != NODE_GROUP)
		r = err_set(-EPERM, "'%s' is no group", path);
	if (r == 0)
		r = kinds_list(m, path, holds_name, NULL);
	if (r == 0)
		r = remove_node(m, e.node);
	entry_free(&e);
	return mount_write_error(r);
}

/* What is kept here of an array that is no more at its path. */
static void
forget(struct mount *m, const struct node *n)
{
	struct array *a = NULL;
	if (n->array && array_open(m->data, m->zmap, n->path, n->array, 0, &a) == 0) {
		array_forget(a, NULL);
		array_unref(a);
	}
}

static int
check_unwritten(struct mount *m, const struct node *n)
{
	struct flat *w = flats_find(m, n->path);
	bool written = w && flat_count_writer(w, 0) > 0;
	if (w)
		flat_put(w);
	return written ? err_set(-EBUSY, "'%s' is being written", n->path) : 0;
}

int
change_remove_array(struct mount *m, const struct node *n)
{
	if (!m->options.allow_delete)
		return err_set(-EPERM, "arrays are removed with -o allow_delete");
	if (!*n->path)
		return err_set(-EPERM, "the store is a single array");
	int r = check_unwritten(m, n);
	if (r == 0)
		r = remove_node(m, n);
	if (r == 0)
		forget(m, n);
	return r;
}

int
change_move_array(struct mount *m, const struct node *n, const char *name)
{
	int r = check_unwritten(m, n);
	if (r == 0)
		r = model_move_array(m->model, n->path, name, NULL);
	if (r == 0)
		r = data_sync(m->data, m->zmap);
	if (r == 0)
		forget(m, n);
	data_expire(m->data); /* what is known of its chunks may be of an array that was there */
	return r;
}

/* --- attributes --- */

static const char OWN[] = "zarrfs.";

/* Those that a file or directory shows are its node's; some are made here. */
static int
may_change(const struct mount *m, const struct entry *e, const char *name)
{
	const struct node *n = e->node;
	if (!m->options.rw)
		return err_set(-EROFS, "the mount is read-only");
	if (!n || !(e->view || (n->kind == NODE_GROUP && e->kind == ENTRY_DIR)))
		return err_set(-EPERM, "'%s' has no attributes", e->path);
	if (strncmp(name, OWN, sizeof OWN - 1) == 0)
		return err_set(-EPERM, "'user.%s' says what the store holds", name);
	return 0;
}

/* As the node has it now. ZMAP_ABSENT: it has none of that name. */
static int
old_value(const struct edit *e, const char *name, struct attr *ret)
{
	struct attrs all = {0};
	int r = node_attrs(edit_node(e), &all);
	if (r < 0)
		return r;
	const struct attr *a = attrs_find(&all, name);
	r = a ? attr_copy(a, ret) : ZMAP_ABSENT;
	attrs_free(&all);
	return r;
}

static int
begin(struct mount *m, const struct entry *e, const char *name, struct edit **ret)
{
	int r = may_change(m, e, name);
	if (r == 0)
		r = model_edit(m->model, e->node->path, ret);
	return r == ZMAP_ABSENT ? err_set(-ENOENT, "'%s' is gone", e->path) : r;
}

/* A program that changes a directory's attributes holds the directory in the kernel, and names in
 * it are stale then: it does not wait for that. */
static int
commit(struct mount *m, const struct entry *e, struct edit *edit)
{
	int r = edit_commit(edit, deadline(m), NULL);
	if (r == 0)
		r = data_sync(m->data, m->zmap);
	if (r == 0 && e->kind == ENTRY_FILE)
		kinds_told(m, SETTLE_FLUSH);
	return r;
}

static int
set(struct edit *edit, const char *name, struct span value, int flags)
{
	struct attr old = {0}, new = {0};
	int r = old_value(edit, name, &old);
	if (r == ZMAP_ABSENT && flags & XATTR_REPLACE)
		r = err_set(-ENODATA, "no such attribute");
	else if (r == 0 && flags & XATTR_CREATE)
		r = err_set(-EEXIST, "there is such an attribute");
	if (r >= 0)
		r = attr_of_text(name, (const char *)value.data, value.len,
			r == ZMAP_ABSENT ? NULL : &old, &new);
	if (r == 0)
		r = edit_set_attr(edit, &new);
	attr_clear(&old);
	attr_clear(&new);
	return r;
}

int
mount_setxattr(
	struct mount *m, const struct entry *e, const char *name, struct span value, int flags)
{
	CLEAN(edit_freep) struct edit *edit = NULL;
	int r = begin(m, e, name, &edit);
	if (r == 0)
		r = set(edit, name, value, flags);
	if (r == 0)
		r = commit(m, e, edit);
	return r == -ENODATA ? r : mount_write_error(r);
}

int
mount_removexattr(struct mount *m, const struct entry *e, const char *name)
{
	CLEAN(edit_freep) struct edit *edit = NULL;
	struct attr old = {0};
	int r = begin(m, e, name, &edit);
	if (r == 0)
		r = old_value(edit, name, &old);
	if (r == ZMAP_ABSENT)
		r = err_set(-ENODATA, "no such attribute");
	if (r == 0)
		r = edit_del_attr(edit, name);
	if (r == 0)
		r = commit(m, e, edit);
	attr_clear(&old);
	return r == -ENODATA ? r : mount_write_error(r);
}
