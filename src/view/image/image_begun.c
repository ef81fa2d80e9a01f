/* New arrays whose chunks come before their metadata. */
#include "model/edit.h"
#include "view/image/image_new.h"
#include "view/image/image_target.h"
#include "view/state.h"

#include "base/check.h"

#include <errno.h>
#include <stdio.h>

static const uint64_t SMALL =
	128 << 10; /* bytes: chunks that are less only because memory is small are too many */

enum { FOUND = ZMAP_NOT_LOCAL + 1 }; /* no outcome of a listing */

static int
is_any(void *arg, const char *name, bool prefix, const struct zmap_stat *stat)
{
	return FOUND;
}

/* A copy that broke off, or that another mount is about, has left chunks where those of the array
 * are to be. */
static int
check_place(struct open_image *o, const char *path)
{
	CLEAN(clean_free) char *prefix = NULL;
	if (asprintf(&prefix, "%s/", path) < 0) {
		prefix = NULL;
		return err_set(-ENOMEM, "no memory for a path");
	}
	int r = zmap_list(o->mount->zmap, prefix, is_any, NULL);
	if (r != FOUND)
		return r == ZMAP_ABSENT ? 0 : r;
	return err_set(-ENOTSUP, "something lies below '%s'", path);
}

static uint64_t
bytes_of(const struct new_array *a, const uint64_t *size)
{
	uint64_t n = a->dtype.size;
	for (unsigned i = 0; i < a->rank; i++)
		if (mul_over(n, size[i], &n))
			return UINT64_MAX;
	return n;
}

/* What is begun of a variable with records, all of which are written at once. */
static uint64_t
begun_of(const struct new_array *a)
{
	uint64_t all = bytes_of(a, a->shape), rows = a->shard ? a->shard[0] : a->chunk[0];
	return all / max_u64(a->shape[0], 1) * min_u64(rows, a->shape[0]);
}

static int
check_chunks(const struct mount *m, const struct image_form *now)
{
	uint64_t begun = 0;
	bool small = false;
	for (size_t i = 0; i < now->file.nvars; i++) {
		const struct image_target *t = now->source[i].target;
		if (!t->new)
			return err_set(-ENOTSUP, "a variable that is not new");
		const struct new_array *a = &t->new->is;
		const uint64_t chunk = bytes_of(a, a->chunk), most = m->options.chunk / 2;
		small |= chunk < SMALL && chunk < bytes_of(a, a->shape) / 2 &&
			 (!most || chunk < most);
		if (nc_is_record(&now->file, &now->file.var[i]))
			begun += begun_of(a);
	}
	if (!small && begun <= data_most_begun(m->data) / 4 * 5)
		return 0;
	return err_set(-ENOTSUP, "memory holds no chunks of all variables at once");
}

int
image_new_begin(void *arg, const struct image_form *now)
{
	struct open_image *o = arg;
	int r = check_chunks(o->mount, now);
	for (size_t i = 0; r == 0 && i < now->file.nvars; i++) {
		const struct image_target *t = now->source[i].target;
		r = check_place(o, t->node->path);
		if (r == 0)
			r = array_begin(t->array, true);
	}
	return r;
}

int
image_new_is_there(struct mount *m, const char *path)
{
	static const char *const names[] = {".zarray", ".zgroup", "zarr.json"};
	int r = ZMAP_ABSENT;
	for (size_t i = 0; r == ZMAP_ABSENT && i < sizeof names / sizeof *names; i++) {
		struct zmap_stat st = {0};
		CLEAN(clean_free) char *key = NULL;
		if (asprintf(&key, "%s/%s", path, names[i]) < 0) {
			key = NULL;
			return err_set(-ENOMEM, "no memory for a path");
		}
		r = zmap_stat(m->zmap, key, &st);
	}
	return r;
}

/* Metadata that say that it is there are looked for anew: what they promise stays. */
static void
undo(struct open_image *o, const struct image_target *t, bool alone)
{
	size_t put = 0, left = 0;
	int r = image_new_is_there(o->mount, t->node->path);
	if (r < 0)
		notes_add(&o->mount->notes,
			"'%s' was not written to its end: what is stored of the new array '%s' "
			"stays, for it cannot be seen whether another writer has made it: %s",
			o->path, t->node->path, err_text());
	if (r != ZMAP_ABSENT)
		array_made(t->array);
	r = array_forget(t->array, NULL);
	if (r == 0)
		array_undo(t->array, alone, &put, &left);
	if (r < 0 || left)
		notes_add(&o->mount->notes,
			"'%s': %zu stored objects of the new array '%s' stay behind, which belong "
			"to nothing",
			o->path, r < 0 ? put : left, t->node->path);
	else if (put)
		notes_add(&o->mount->notes,
			"'%s' was not written to its end: %zu stored objects of the new array "
			"'%s' are removed",
			o->path, put, t->node->path);
}

static bool
is_new(const struct image_target *t)
{
	return t && array_is_new(t->array);
}

void
image_new_undo(void *arg, const struct image_form *now)
{
	bool alone = true;
	for (size_t i = 0; i < now->file.nvars; i++) {
		const struct image_target *t = now->source[i].target;
		alone &= !is_new(t) || !array_met(t->array);
	}
	for (size_t i = 0; i < now->file.nvars; i++)
		if (is_new(now->source[i].target))
			undo(arg, now->source[i].target, alone);
}

void
image_new_made(const struct image_form *now)
{
	for (size_t i = 0; i < now->file.nvars; i++) {
		const struct image_target *t = now->source[i].target;
		if (t && t->new)
			array_made(t->array);
	}
}
