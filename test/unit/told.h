/* A writable mount of an array t that grows along time; it hears of what its looks at the metadata
 * found when the test tells it. */
#pragma once

#include "mounted.h"

#include "model/node_cache.h"
#include "view/state.h"

#include <fcntl.h>

struct told {
	struct zmap *store;
	struct mount *mount;
	struct file *file;                         /* of t, open for both */
	void (*put)(struct zmap *, unsigned rows); /* the metadata of t */
	model_changed_fn *tell;
};

/* Another writer makes t so long, and the mount's model looks. */
static inline struct node *
told_look(struct told *t, unsigned rows)
{
	struct node *ret = NULL;
	t->put(t->store, rows);
	CHECK_INT(model_look_again(t->mount->model, "t", &ret), 0);
	return ret;
}

/* *ret: the node as the file was opened, with so many rows. */
static inline struct told
told_begin(void (*put)(struct zmap *, unsigned rows), unsigned rows, struct node **ret)
{
	struct mount_options o = options_new();
	struct told t = {.store = store_new("mem:told"), .put = put};
	o.rw = true;
	o.zmap.writable = true;
	o.unlimited = "time";
	put_text(t.store, ".zgroup", "{\"zarr_format\": 2}");
	put_text(t.store, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	t.mount = mount_new("mem:told", &o);
	t.tell = t.mount->model->changed;
	*ret = told_look(&t, rows);
	t.file = open_for(t.mount, "t", O_RDWR, 0);
	model_on_change(t.mount->model, NULL, NULL);
	return t;
}

static inline void
told_end(struct told *t)
{
	file_close(t->file);
	mount_close(t->mount);
	zmap_close(t->store);
}
