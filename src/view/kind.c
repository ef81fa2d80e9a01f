#include "view/kind.h"

#include "view/state.h"

#include "base/check.h"
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
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k && r == 0; k++)
		if ((*k)->begin)
			r = (*k)->begin(m);
	return r;
}

void
kinds_end(struct mount *m)
{
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k; k++)
		if ((*k)->end)
			(*k)->end(m);
}

int
kinds_lookup(struct mount *m, const char *path, struct entry *ret)
{
	int r = ZMAP_ABSENT;
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k && r == ZMAP_ABSENT;
		k++)
		if ((*k)->lookup)
			r = (*k)->lookup(m, path, ret);
	return r;
}

bool
kinds_hide(struct mount *m, const char *path)
{
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k; k++)
		if ((*k)->hides && (*k)->hides(m, path))
			return true;
	return false;
}

void
kinds_gone(struct mount *m, const char *path)
{
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k; k++)
		if ((*k)->gone)
			(*k)->gone(m, path);
}

int
kinds_list(struct mount *m, const char *dir, mount_dir_fn *fn, void *arg)
{
	int r = 0;
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k && r == 0; k++)
		if ((*k)->list)
			r = (*k)->list(m, dir, fn, arg);
	return r;
}

bool
kinds_take(struct mount *m, const struct view_ops *view)
{
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k; k++)
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
	for (const struct file_kind *const *k = f->mount->kinds; *k && r == ZMAP_ABSENT; k++) {
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
	for (const struct file_kind *const *k = f->mount->kinds; *k; k++)
		if ((*k)->other_read)
			(*k)->other_read(f);
}

int
kinds_retry(struct mount *m, struct buf *said)
{
	int worst = 0;
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k; k++) {
		int r = (*k)->retry ? (*k)->retry(m, said) : 0;
		worst = worst ? worst : r;
	}
	return worst;
}

int
kinds_error(struct mount *m, const char *path, struct buf *ret)
{
	int r = ZMAP_ABSENT;
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k && r == ZMAP_ABSENT;
		k++)
		if ((*k)->error)
			r = (*k)->error(m, path, ret);
	return r;
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
file_truncate(struct file *f, uint64_t size, enum file_resize how, struct cancel *cancel)
{
	if (!f->kind || !f->kind->truncate)
		return refuse(f, "truncated");
	return mount_write_error(f->kind->truncate(f, size, how, cancel));
}

uint64_t
file_known_before(const struct file_known *k, enum settle_why why)
{
	const uint64_t told = atomic_load(&k->told);
	return why == SETTLE_RELEASE ? max_u64(told, atomic_load(&k->close)) : told;
}

void
file_known_now(struct file_known *k, enum settle_why why, uint64_t upto)
{
	_Atomic(uint64_t) *to = why == SETTLE_FSYNC ? &k->told : &k->close;
	uint64_t is = atomic_load(to);
	while (is < upto && !atomic_compare_exchange_weak(to, &is, upto))
		continue;
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
