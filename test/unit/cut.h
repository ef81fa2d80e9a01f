/* An array t that grows along time, in a store and in a writable mount of it, with an open file of
 * it; another writer makes it shorter. */
#pragma once

#include "mounted.h"

#include "model/model.h"
#include "view/flats.h"
#include "view/state.h"

#include <fcntl.h>

struct cut {
	struct zmap *store;
	struct mount *mount;
	struct file *file;
};

/* The store, with all but the array's own metadata and chunks. dims: JSON. */
static inline struct cut
cut_store(const char *url, const char *dims)
{
	struct cut c = {.store = store_new(url)};
	put_text(c.store, ".zgroup", "{\"zarr_format\": 2}");
	put_text(c.store, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": %s}", dims);
	return c;
}

/* The mount, and the file in it. empty: what it does with chunks that are all fill. */
static inline void
cut_mount_with(struct cut *c, const char *url, const char *file, enum empty_chunks empty)
{
	struct mount_options o = options_new();
	o.rw = o.zmap.writable = true;
	o.unlimited = "time";
	o.empty_chunks = empty;
	c->mount = mount_new(url, &o);
	c->file = open_for(c->mount, file, O_RDWR, 0);
}

static inline void
cut_mount(struct cut *c, const char *url, const char *file)
{
	cut_mount_with(c, url, file, EMPTY_KEEP);
}

static inline void
cut_end(struct cut *c)
{
	file_close(c->file);
	mount_close(c->mount);
	zmap_close(c->store);
}

/* The mount looks at the metadata, which are others by now. */
static inline void
cut_hear(struct cut *c)
{
	struct node *now = NULL;
	CHECK_INT(model_look_again(c->mount->model, "t", &now), 0);
	node_unref(now);
}

static inline int
cut_settle(struct cut *c)
{
	return file_settle(c->file, SETTLE_FSYNC, 0, NULL);
}

/* bytes: n of them, all that the chunk has; NULL: it is not there. */
static inline void
cut_check_chunk(struct cut *c, const char *key, const char *bytes, size_t n)
{
	CLEAN(buf_free) struct buf got = {0};
	const struct zmap_get g = {.key = key, .into = &got, .max = 64};
	CHECK_INT(zmap_get(c->store, &g, NULL), bytes ? 0 : ZMAP_ABSENT);
	CHECK(!bytes || (got.len == n && !memcmp(got.data, bytes, n)));
}

/* All that was written to that file is in the store, and its metadata were not looked at since. */
static inline void
cut_push_to(struct mount *m, const char *file)
{
	struct flat *w = flats_find(m, file);
	struct flat_state st;
	flat_now(w, &st);
	CHECK_INT(array_flush(flat_variable(st.layout)->array, NULL), 0);
	flat_state_done(&st);
	flat_put(w);
}

static inline void
cut_push(struct mount *m)
{
	cut_push_to(m, "t");
}
