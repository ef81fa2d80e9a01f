/* The elements of a file's variables get into the store: of all of them at once. */
#include "model/parallel.h"
#include "view/image/image_target.h"
#include "view/state.h"

#include <pthread.h>

int
image_flush(struct open_image *o, const struct image_form *form, const struct array_want *how)
{
	struct err why = {0};
	for (size_t i = 0; i < form->file.nvars; i++)
		if (form->source[i].target)
			array_flush_begin(((struct image_target *)form->source[i].target)->array);
	for (size_t i = 0; i < form->file.nvars; i++) {
		struct image_target *t = form->source[i].target;
		if (!t)
			continue;
		t->stored = array_flush(t->array, how->cancel);
		if (t->stored < 0 && !why.code)
			err_save(t->stored, &why);
	}
	return why.code ? err_restore(&why) : zmap_sync(o->mount->zmap);
}

struct confirming {
	const struct image_form *form;
	pthread_mutex_t lock; /* guards the rest */
	size_t at;            /* the first variable that failed … */
	struct err why;       /* … and why */
};

static void
confirm(void *arg, size_t i)
{
	struct confirming *c = arg;
	const struct image_target *t = c->form->source[i].target;
	int r = t ? array_confirm(t->array, t->stored < 0) : 0;
	if (r < 0)
		LOCKED(&c->lock)
			if (!c->why.code || i < c->at) {
				c->at = i;
				err_save(r, &c->why);
			}
}

int
image_confirm(struct open_image *o, const struct image_form *form, int stored)
{
	struct confirming c = {.form = form, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct err before = {0};
	if (stored < 0)
		err_save(stored, &before);
	in_parallel(form->file.nvars, o->mount->zmap->caps & ZMAP_REMOTE, confirm, &c);
	pthread_mutex_destroy(&c.lock);
	if (before.code)
		return err_restore(&before);
	return c.why.code ? err_restore(&c.why) : stored;
}
