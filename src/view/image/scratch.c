#include "view/image/scratch.h"

#include "view/kind.h"
#include "view/state.h"

#include "base/check.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { MODE = 0644 };

static int
begin(struct mount *m)
{
	return scratches_new(&m->scratches);
}

static void
end(struct mount *m)
{
	m->scratches = scratches_free(m->scratches);
}

static int
describe(struct mount *m, struct scratch *s, const char *path, struct entry *ret)
{
	int r = mount_entry(m, path, ENTRY_FILE, MODE, ret);
	if (r < 0)
		return r;
	ret->size = atomic_load(&s->size);
	ret->mtime = atomic_load(&s->mtime);
	ret->version = s->version;
	ret->by = &kind_scratch;
	return 0;
}

static int
lookup(struct mount *m, const char *path, struct entry *ret)
{
	struct scratch *s = scratches_hold(m, path);
	int r = s ? describe(m, s, path, ret) : ZMAP_ABSENT;
	scratches_put(m, s);
	return r == ZMAP_ABSENT && scratches_hides(m, path) ? -ENOENT : r;
}

static int
list(struct mount *m, const char *dir, mount_dir_fn *fn, void *arg)
{
	CLEAN(buf_free) struct buf names = {0};
	int r = scratches_paths(m, dir, &names);
	for (size_t at = 0; at < names.len && r == 0;) {
		const char *path = (const char *)names.data + at;
		at += strlen(path) + 1;
		r = fn(arg, path_name(path), mount_ino(path), DT_REG);
	}
	return r;
}

/* New names are made in groups. */
static int
check_dir(struct mount *m, const char *path)
{
	CLEAN(clean_free) char *dir = strndup(path, scratch_dir_len(path));
	CLEAN(node_unrefp) struct node *n = NULL;
	if (!dir)
		return err_set(-ENOMEM, "no memory for a path");
	int r = model_lookup(m->model, dir, &n);
	if (r == ZMAP_ABSENT)
		return err_set(-ENOENT, "there is no '%s'", dir);
	if (r == 0 && n->kind != NODE_GROUP)
		return err_set(-EACCES, "'%s' is no group", dir);
	return r;
}

static int
create(struct mount *m, const char *path, struct entry *ret)
{
	struct scratch *s = NULL;
	int r = check_dir(m, path);
	if (r == 0)
		r = scratches_make(m, path, &s);
	if (r == 0)
		r = describe(m, s, path, ret);
	scratches_put(m, s);
	return r;
}

/* As its handles are told: what was refused, or what cannot be stored. */
static int
look_stored(struct scratch *s, enum settle_why why, const struct array_want *how)
{
	int r = turn_take(&s->turn, how->deadline);
	if (r < 0)
		return r;
	r = scratch_settle_flat(s, why, how);
	int refused = scratch_refused(s);
	return turn_give(&s->turn, refused < 0 ? refused : r);
}

static int
open_scratch(struct file *f, const struct entry *e, int flags)
{
	struct scratch *s = scratches_hold(f->mount, e->path);
	int r = 0;
	if (!s || s->version != e->version) {
		scratches_put(f->mount, s);
		return err_set(-ESTALE, "'%s' has changed since it was looked up", e->path);
	}
	if (file_writes(f))
		r = scratch_add_writer(f->mount, s, e->path, flags & O_TRUNC);
	f->own = s;
	f->size = atomic_load(&s->size);
	f->direct = true;
	return r;
}

static int
read_scratch(struct file *f, const struct array_want *want, struct reply *ret)
{
	struct scratch *s = f->own;
	size_t n = 0;
	int r = buf_reserve(&ret->own, want->len + 1);
	if (r == 0)
		r = turn_take(&s->turn, want->deadline);
	if (r < 0)
		return r;
	r = turn_give(&s->turn, scratch_content(s, want, ret->own.data, &n));
	if (r < 0 || !n)
		return r;
	ret->own.len = ret->len = n;
	ret->part[0] = (struct iovec){ret->own.data, n};
	ret->parts = 1;
	return 0;
}

static int
write_scratch(struct file *f, uint64_t off, struct span bytes, const struct array_want *how,
	unsigned flags)
{
	return scratch_write(f->mount, f->own, off, bytes, how, flags);
}

static int
truncate_scratch(struct file *f, uint64_t size, enum file_resize by, struct cancel *cancel)
{
	(void)cancel;
	return scratch_resize(f->own, size, by == RESIZE_LONGER);
}

/* --- taking in --- */

static int
store_image(struct mount *m, const char *path, struct scratch *s, const struct array_want *how)
{
	if (!s->image)
		return images_take_in(m, path, &s->bytes, how);
	int r = image_settle(s->image->image, IMAGE_FLUSH, how);
	images_tell(s->image);
	return r;
}

/* What was refused of a file that another one has taken the place of is no matter any more, unless
 * its writer has it open still. */
static void
forget_refused(struct mount *m, const char *path)
{
	struct open_image *o = images_find(m, path);
	if (o)
		images_put(o, false);
	else
		images_unstick(m, path, NULL);
}

/* What was written becomes what the path says. In turn. */
static int
take_in_now(struct mount *m, const char *path, struct scratch *s, const struct array_want *how)
{
	int r = store_image(m, path, s, how);
	if (r)
		return r;
	s->changed = false;
	forget_refused(m, path);
	scratches_become(m, s, path);
	return 0;
}

/* In turn: what its name is then says what it means. *ret_path: that name, if it is known, for the
 * caller. ZMAP_ABSENT: nothing was written since that was tried, or it means nothing. */
static int
take_in(struct mount *m, struct scratch *s, const struct array_want *how, char **ret_path)
{
	int r = turn_take(&s->turn, how->deadline);
	char *path = *ret_path = scratches_target(m, s);
	if (r < 0)
		return r;
	if (!path || !scratch_is_netcdf(path))
		return turn_give(&s->turn, ZMAP_ABSENT);
	r = scratch_refused(s);
	if (r == 0)
		r = s->changed && s->size ? take_in_now(m, path, s, how) : ZMAP_ABSENT;
	return turn_give(&s->turn, r);
}

/* Does the last writer let go of one that was taken in? Then what cannot be taken in now is lost,
 * for no name leads to it. What has come of a copy that broke off goes. */
static bool
is_last(struct mount *m, struct scratch *s)
{
	bool flat = false;
	if (atomic_fetch_sub(&s->writers, 1) != 1)
		return false;
	if (turn_take(&s->turn, 0) == 0) {
		flat = s->flat != NULL;
		if (s->image && image_flows(s->image->image))
			scratch_drop_image(s);
		turn_give(&s->turn, 0);
	}
	return flat || scratches_is_taken(m, s);
}

/* A new file that is a netCDF file by its name means something when it is closed. */
static int
settle(struct file *f, enum settle_why why, int64_t deadline, struct cancel *cancel)
{
	struct scratch *s = f->own;
	struct mount *m = f->mount;
	const struct array_want how = {.deadline = deadline, .cancel = cancel};
	if (!file_writes(f) || why == SETTLE_OTHER_READ)
		return 0;
	if (why == SETTLE_RELEASE && !is_last(m, s))
		return 0;
	CLEAN(clean_free) char *path = NULL;
	int r = take_in(m, s, &how, &path);
	if (r < 0 && path && why == SETTLE_RELEASE)
		images_stick(m, path, r);
	if (r)
		return r < 0 ? r : look_stored(s, why, &how);
	kinds_told(m, why);
	return 0;
}

static uint64_t
size_of(struct file *f)
{
	struct scratch *s = f->own;
	return atomic_load(&s->size);
}

static void
close_scratch(struct file *f)
{
	scratches_put(f->mount, f->own);
}

/* A netCDF file that another one is to replace; or any that shows what the store has, of a variable
 * or group that may be removed. The variable goes by its own name, which has no suffix. */
static bool
may_hide(const struct mount *m, const struct entry *e)
{
	return e->view &&
	       (kind_image.takes(e->view) || (m->options.allow_delete && *e->view->suffix));
}

static int
unlink_it(struct mount *m, const struct entry *e)
{
	if (e->by == &kind_scratch) {
		struct scratch *s = scratches_hold(m, e->path);
		if (s)
			scratches_unname(m, s);
		scratches_put(m, s);
		return 0;
	}
	return may_hide(m, e) ? scratches_hide(m, e->path) : ZMAP_ABSENT;
}

/* In turn, all of it: nothing is written to it and no handle comes before it is the other one. */
static int
rename_now(struct mount *m, struct scratch *s, const struct entry *to)
{
	const struct array_want how = {.cancel = NULL};
	int r = scratch_take_back(s, &how);
	if (r < 0)
		return r;
	const bool nc = scratch_is_netcdf(to->path) && atomic_load(&s->size);
	if (to->view && !*to->view->suffix) {
		r = scratch_put_flat(m, s, to, &how);
		if (r == 0)
			scratches_become(m, s, to->path);
		return r;
	}
	if (to->view ? kind_image.takes(to->view) : nc && !to->ino) {
		r = take_in_now(m, to->path, s, &how);
		return r < 0 ? err_add(r, "to '%s'", to->path) : r;
	}
	if (to->ino && to->by != &kind_scratch)
		return err_set(-EACCES, "'%s' cannot be written", to->path);
	r = check_dir(m, to->path);
	return r < 0 ? r : scratches_move(m, s, to->path);
}

static int
rename_it(struct mount *m, const struct entry *from, const struct entry *to, unsigned flags)
{
	struct scratch *s = from->by == &kind_scratch ? scratches_hold(m, from->path) : NULL;
	if (!s)
		return ZMAP_ABSENT;
	int r = scratch_take(s, 0);
	if (r == 0)
		r = turn_give(&s->turn, rename_now(m, s, to));
	scratches_put(m, s);
	return r;
}

static bool
waits(const struct scratch *s)
{
	return atomic_load(&s->changed) && atomic_load(&s->size);
}

/* A taken file that is still open at the end has no release: its last writer is taken to have let
 * go of it now. */
static int
settle_all(struct mount *m, const char *dir, enum settle_why why, struct cancel *cancel,
	struct buf *said)
{
	CLEAN(clean_free) struct scratch **all = NULL;
	const struct array_want how = {.cancel = cancel};
	int r = why == SETTLE_RELEASE ? scratches_taken(m, &all) : 0, worst = 0;
	for (size_t i = 0; all && all[i]; i++) {
		CLEAN(clean_free) char *path = NULL;
		int e = waits(all[i]) ? take_in(m, all[i], &how, &path) : 0;
		if (e < 0)
			worst = path ? images_stick(m, path, e) : e;
		scratches_put(m, all[i]);
	}
	return r < 0 ? r : worst;
}

static int
say_lost(const char *path, struct buf *said)
{
	if (said)
		buf_addf(said, "'%s': it was written, but never taken into the store\n", path);
	return err_set(-EIO, "'%s' was never taken into the store", path);
}

/* Those of which nothing was taken in, and what was written since of those that were; images_lost
 * names what was refused. */
static int
lost(struct mount *m, struct buf *said)
{
	CLEAN(buf_free) struct buf left = {0};
	CLEAN(clean_free) struct scratch **all = NULL;
	int r = scratches_paths(m, NULL, &left), e = scratches_taken(m, &all);
	for (size_t at = 0; at < left.len;) {
		const char *path = (const char *)left.data + at;
		at += strlen(path) + 1;
		r = say_lost(path, said);
	}
	for (size_t i = 0; all && all[i]; i++) {
		CLEAN(clean_free) char *path = scratches_target(m, all[i]);
		if (path && waits(all[i]) && images_stuck(m, path) == 0)
			r = say_lost(path, said);
		scratches_put(m, all[i]);
	}
	return r < 0 ? r : e;
}

const struct file_kind kind_scratch = {
	.name = "scratch",
	.begin = begin,
	.end = end,
	.lookup = lookup,
	.hides = scratches_hides,
	.gone = scratches_gone,
	.list = list,
	.create = create,
	.unlink = unlink_it,
	.rename = rename_it,
	.open = open_scratch,
	.read = read_scratch,
	.write = write_scratch,
	.truncate = truncate_scratch,
	.size = size_of,
	.settle = settle,
	.close = close_scratch,
	.settle_all = settle_all,
	.lost = lost,
};
