#include "view/kind.h"

#include "view/state.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* What a writable mount cannot promise here is said once. */
int
kinds_may_write(struct mount *m)
{
	CLEAN(buf_free) struct buf said = {0};
	int r = m->options.rw ? zmap_try_writing(m->zmap, &said) : 0;
	if (r < 0)
		return err_add(r, "option 'rw': store '%s' cannot be written", m->url.shown);
	if (!said.len || !m->options.zmap.warn)
		return 0;
	char *line = (char *)said.data, *end = line + said.len;
	for (char *stop; line < end; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			break;
		*stop = 0;
		m->options.zmap.warn(line);
	}
	return 0;
}

int
kinds_begin(struct mount *m)
{
	int r = 0;
	for (const struct file_kind *const *k = kind_table; m->options.rw && *k && r == 0; k++)
		if ((*k)->begin)
			r = (*k)->begin(m);
	return r;
}

void
kinds_end(struct mount *m)
{
	for (const struct file_kind *const *k = kind_table; m->options.rw && *k; k++)
		if ((*k)->end)
			(*k)->end(m);
}

int
kinds_lookup(struct mount *m, const char *path, struct entry *ret)
{
	int r = ZMAP_ABSENT;
	for (const struct file_kind *const *k = kind_table; m->options.rw && *k && r == ZMAP_ABSENT;
		k++)
		if ((*k)->lookup)
			r = (*k)->lookup(m, path, ret);
	return r;
}

int
kinds_list(struct mount *m, const char *dir, mount_dir_fn *fn, void *arg)
{
	int r = 0;
	for (const struct file_kind *const *k = kind_table; m->options.rw && *k && r == 0; k++)
		if ((*k)->list)
			r = (*k)->list(m, dir, fn, arg);
	return r;
}

bool
kinds_take(struct mount *m, const struct view_ops *view)
{
	for (const struct file_kind *const *k = kind_table; m->options.rw && *k; k++)
		if ((*k)->takes && (*k)->takes(view))
			return true;
	return false;
}

int
kinds_open(struct file *f, const struct entry *e, int flags)
{
	int r = ZMAP_ABSENT;
	if (!f->mount->options.rw || e->special)
		return r;
	if (e->by) {
		f->kind = e->by;
		r = e->by->open(f, e, flags);
		f->kind = r == ZMAP_ABSENT ? NULL : f->kind; /* what it answered for has ended */
		return r;
	}
	for (const struct file_kind *const *k = kind_table; *k && r == ZMAP_ABSENT; k++) {
		if (!e->view || !(*k)->takes || !(*k)->takes(e->view))
			continue;
		f->kind = *k;
		r = (*k)->open(f, e, flags);
	}
	if (r)
		f->kind = NULL;
	return r;
}

void
kinds_other_read(struct file *f)
{
	for (const struct file_kind *const *k = kind_table; *k; k++)
		if ((*k)->other_read)
			(*k)->other_read(f);
}

int
kinds_retry(struct mount *m, struct buf *said)
{
	int worst = 0;
	for (const struct file_kind *const *k = kind_table; m->options.rw && *k; k++) {
		int r = (*k)->retry ? (*k)->retry(m, said) : 0;
		worst = worst ? worst : r;
	}
	return worst;
}

int
kinds_error(struct mount *m, const char *path, struct buf *ret)
{
	int r = ZMAP_ABSENT;
	for (const struct file_kind *const *k = kind_table; m->options.rw && *k && r == ZMAP_ABSENT;
		k++)
		if ((*k)->error)
			r = (*k)->error(m, path, ret);
	return r;
}

void
kinds_wrote(struct mount *m, const char *node_path, const char *except)
{
	struct stale *s = atomic_load(&m->stale);
	const char *flat = mount_path(m, node_path);
	bool by_flat = except && strcmp(except, flat) == 0;
	if (by_flat)
		facts_written(&m->facts, node_path, clock_wall());
	else
		facts_changed(&m->facts, node_path, clock_wall());
	if (s)
		stale_push(s, flat, by_flat ? STALE_WRITTEN : STALE_ATTRIBUTES);
	files_stale(m, node_path, except, STALE_PAGES);
	views_stale(m, node_path, except, STALE_ATTRIBUTES);
}

void
kinds_told(struct mount *m)
{
	struct stale *s = atomic_load(&m->stale);
	if (s)
		stale_flush(s);
}

/* --- what fuse/ asks for --- */

int
mount_write_error(int code)
{
	switch (code) {
	case -EBADF:
	case -EBUSY:
	case -EDQUOT:
	case -EEXIST:
	case -EINVAL:
	case -ENAMETOOLONG:
	case -ENOENT:
	case -ENOSPC:
	case -ENOTEMPTY:
	case -EPERM:
	case -ERANGE:
	case -EROFS: return code;
	default: return mount_error(code);
	}
}

static int
read_only(const struct mount *m)
{
	return m->options.rw ? 0 : err_set(-EROFS, "the mount is read-only");
}

static int
refuse(const struct file *f, const char *what)
{
	return err_set(-EACCES, "'%s' cannot be %s", f->path, what);
}

int
file_write(struct file *f, uint64_t off, struct span bytes, const struct array_want *how,
	unsigned flags)
{
	if (!f->kind || !f->kind->write)
		return refuse(f, "written");
	return mount_write_error(f->kind->write(f, off, bytes, how, flags));
}

int
file_truncate(struct file *f, uint64_t size, bool through_handle)
{
	if (!f->kind || !f->kind->truncate)
		return refuse(f, "truncated");
	return mount_write_error(f->kind->truncate(f, size, through_handle));
}

int
file_settle(struct file *f, enum settle_why why, int64_t deadline, struct cancel *cancel)
{
	if (!f->kind || !f->kind->settle)
		return 0;
	return mount_write_error(f->kind->settle(f, why, deadline, cancel));
}

bool
file_is_direct(const struct file *f)
{
	return f->direct;
}

bool
file_is_spread(const struct file *f)
{
	return f->spread;
}

bool
file_is_writable(const struct file *f)
{
	return f->kind && file_writes(f);
}

/* One that is written may be open, or not; whatever stands behind the name is asked by its kind. */
static int
look_up(struct mount *m, const char *path, struct entry *ret)
{
	int r = read_only(m);
	return r < 0 ? r : mount_lookup(m, path, ret);
}

int
mount_create(struct mount *m, const char *path, struct entry *ret)
{
	int r = read_only(m);
	if (r < 0)
		return r;
	r = ZMAP_ABSENT;
	for (const struct file_kind *const *k = kind_table; *k && r == ZMAP_ABSENT; k++)
		if ((*k)->create)
			r = (*k)->create(m, path, ret);
	if (r == ZMAP_ABSENT)
		r = err_set(-EACCES, "'%s' cannot be made here", path);
	return mount_write_error(r);
}

int
mount_unlink(struct mount *m, const char *path)
{
	struct entry e = {0};
	int r = look_up(m, path, &e);
	if (r)
		return r == ZMAP_ABSENT ? err_set(-ENOENT, "there is no '%s'", path) : r;
	r = ZMAP_ABSENT;
	for (const struct file_kind *const *k = kind_table; *k && r == ZMAP_ABSENT; k++)
		if ((*k)->unlink)
			r = (*k)->unlink(m, &e);
	if (r == ZMAP_ABSENT)
		r = err_set(-EPERM, "'%s' cannot be removed", path);
	entry_free(&e);
	return mount_write_error(r);
}

/* What is at the new name, or that name alone. */
static int
look_up_target(struct mount *m, const char *path, struct entry *ret)
{
	int r = look_up(m, path, ret);
	if (r != ZMAP_ABSENT)
		return r;
	*ret = (struct entry){.path = strdup(path)};
	return ret->path ? 0 : err_set(-ENOMEM, "no memory for a path");
}

int
mount_rename(struct mount *m, const char *from, const char *to, unsigned flags)
{
	struct entry a = {0}, b = {0};
	int r = look_up(m, from, &a);
	if (r == ZMAP_ABSENT)
		r = err_set(-ENOENT, "there is no '%s'", from);
	if (r == 0)
		r = look_up_target(m, to, &b);
	if (r == 0 && b.ino && flags & RENAME_NOREPLACE)
		r = err_set(-EEXIST, "'%s' is there", to);
	if (r == 0 && flags & ~(unsigned)RENAME_NOREPLACE)
		r = err_set(-EINVAL, "two files cannot be exchanged");
	if (r == 0) {
		r = ZMAP_ABSENT;
		for (const struct file_kind *const *k = kind_table; *k && r == ZMAP_ABSENT; k++)
			if ((*k)->rename)
				r = (*k)->rename(m, &a, &b, flags);
		if (r == ZMAP_ABSENT)
			r = err_set(-EPERM, "'%s' cannot be renamed", from);
	}
	entry_free(&a);
	entry_free(&b);
	return mount_write_error(r);
}

static int
settle_all(struct mount *m, const char *dir, enum settle_why why, struct cancel *cancel,
	struct buf *said)
{
	int worst = 0;
	for (const struct file_kind *const *k = kind_table; m->options.rw && *k; k++) {
		int r = (*k)->settle_all ? (*k)->settle_all(m, dir, why, cancel, said) : 0;
		worst = worst ? worst : r;
	}
	return worst;
}

int
mount_settle(struct mount *m, const char *dir, enum settle_why why, struct cancel *cancel)
{
	return mount_write_error(settle_all(m, dir, why, cancel, NULL));
}

int
mount_drain(struct mount *m, struct buf *said)
{
	int r = settle_all(m, "", SETTLE_RELEASE, NULL, said), lost = mount_lost(m, said);
	return r < 0 ? r : lost;
}

int
mount_lost(struct mount *m, struct buf *said)
{
	int worst = 0;
	for (const struct file_kind *const *k = kind_table; m->options.rw && *k; k++) {
		int r = (*k)->lost ? (*k)->lost(m, said) : 0;
		worst = worst ? worst : r;
	}
	return worst;
}

bool
mount_unstored(struct mount *m)
{
	for (const struct file_kind *const *k = kind_table; m->options.rw && *k; k++)
		if ((*k)->unstored && (*k)->unstored(m))
			return true;
	return false;
}

const struct file_kind *const kind_table[] = {
	&kind_flat,
	&kind_image,
	&kind_scratch,
	NULL,
};
