/* The elements of a file's variables get into the store: of all of them at once. */
#include "model/parallel.h"
#include "view/image/image_target.h"
#include "view/state.h"

#include <pthread.h>

static struct array *
array_at(const struct image_form *form, size_t var)
{
	const struct image_target *t = form->source[var].target;
	return t ? t->array : NULL;
}

/* Of an array that another writer has made shorter what is left is. */
static int
flush(struct open_image *o, struct image_target *t, const struct array_want *how)
{
	do
		t->stored = array_flush(t->array, how->cancel);
	while (t->stored < 0 && image_target_was_cut(o, t));
	return t->stored;
}

int
image_flush(struct open_image *o, const struct image_form *form, const struct array_want *how)
{
	struct err why = {0};
	for (size_t i = 0; i < form->file.nvars; i++)
		if (array_at(form, i))
			array_flush_begin(array_at(form, i));
	for (size_t i = 0; i < form->file.nvars; i++) {
		struct image_target *t = form->source[i].target;
		if (!t)
			continue;
		if (flush(o, t, how) < 0 && !why.code)
			err_save(t->stored, &why);
	}
	return why.code ? err_restore(&why) : data_sync(o->mount->data, o->mount->zmap);
}

void
image_form_know(const struct image_form *form, int code, uint64_t upto, _Atomic(uint64_t) *heard)
{
	for (size_t i = 0; i < form->file.nvars; i++)
		if (array_at(form, i))
			array_know(array_at(form, i), code, upto, heard);
}

int
image_form_hear(const struct image_form *form, bool wrote, _Atomic(uint64_t) *heard)
{
	struct err first = {0};
	for (size_t i = 0; i < form->file.nvars; i++) {
		struct array *a = array_at(form, i);
		const int r = a ? array_hear(a, wrote, heard) : 0;
		if (r < 0 && !first.code)
			err_save(r, &first);
	}
	return first.code ? err_restore(&first) : 0;
}

struct confirming {
	struct open_image *image;
	const struct image_form *form;
	const struct array_want *how;
	pthread_mutex_t lock; /* guards the rest */
	size_t at;            /* the first variable that failed … */
	struct err why;       /* … and why */
};

static void
confirm(void *arg, size_t i)
{
	struct confirming *c = arg;
	struct image_target *t = c->form->source[i].target;
	int r = t ? array_confirm(t->array, t->stored < 0) : 0;
	if (r < 0 && image_target_was_cut(c->image, t))
		r = flush(c->image, t, c->how);
	if (r < 0)
		LOCKED(&c->lock)
			if (!c->why.code || i < c->at) {
				c->at = i;
				err_save(r, &c->why);
			}
}

int
image_confirm(struct open_image *o, const struct image_form *form, int stored,
	const struct array_want *how)
{
	struct confirming c = {
		.image = o, .form = form, .how = how, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct err before = {0};
	if (stored < 0)
		err_save(stored, &before);
	in_parallel(form->file.nvars, o->mount->zmap->caps & ZMAP_REMOTE, confirm, &c);
	pthread_mutex_destroy(&c.lock);
	if (before.code)
		return err_restore(&before);
	return c.why.code ? err_restore(&c.why) : stored;
}
