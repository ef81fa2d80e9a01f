/* What changes names of a writable mount, and what stores all of it: each kind is asked in turn. */
#include "view/kind.h"
#include "view/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
read_only(const struct mount *m)
{
	return m->options.rw ? 0 : err_set(-EROFS, "the mount is read-only");
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
	for (const struct file_kind *const *k = m->kinds; *k && r == ZMAP_ABSENT; k++)
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
	for (const struct file_kind *const *k = m->kinds; *k && r == ZMAP_ABSENT; k++)
		if ((*k)->unlink)
			r = (*k)->unlink(m, &e);
	if (r == ZMAP_ABSENT)
		r = err_set(-EPERM, "'%s' cannot be removed%s", path,
			e.view ? ": it shows what the store has (rm -r of a group works with -o "
				 "allow_delete)"
			       : "");
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
		for (const struct file_kind *const *k = m->kinds; *k && r == ZMAP_ABSENT; k++)
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
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k; k++) {
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
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k; k++) {
		int r = (*k)->lost ? (*k)->lost(m, said) : 0;
		worst = worst ? worst : r;
	}
	return worst;
}

bool
mount_unstored(struct mount *m)
{
	for (const struct file_kind *const *k = m->kinds; m->options.rw && *k; k++)
		if ((*k)->unstored && (*k)->unstored(m))
			return true;
	return false;
}
