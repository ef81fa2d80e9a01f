/* Another writer makes an array shorter while a reader waits for the store, of rows that are not
 * stored here: what was written counts no more, and the reader gets it or fill, nothing else. */
#include "mounted.h"

#include "model/model.h"
#include "view/flats.h"
#include "view/state.h"

#include <fcntl.h>

enum { ROWS = 8, LEFT = 5 };

static struct zmap_ops ops;
static const struct zmap_ops *under;
static struct mount *mount;
static struct zmap *store;
static bool cuts;

static void
put_rows(unsigned rows)
{
	char shape[16];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, "t", "\"|i1\"", shape, "[2]", "\"fill_value\": 9");
}

/* The reader has taken what waits to be stored, and asks for the first chunk. */
static int
play_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	int r = under->get(z, g, ret);
	if (!strcmp(g->key, "t/0") && cuts) {
		struct node *now = NULL;
		ret->mtime = 0; /* so that the chunk is not looked at once more */
		cuts = false;
		put_rows(LEFT);
		CHECK_INT(model_look_again(mount->model, "t", &now), 0);
		node_unref(now);
	}
	return r;
}

static void
read_rows(struct array *a)
{
	const struct array_want all = {.len = ROWS};
	uint8_t got[ROWS];
	struct stream *s = NULL;
	struct reply reply = {0};
	CHECK_INT(stream_new(a, &s), 0);
	CHECK_INT(stream_read(s, &all, &reply), 0);
	reply_copy(&reply, got);
	CHECK(!memcmp(got, "\3\3\1\1\1\11", 6));
	CHECK(!memcmp(got + 6, "\1\1", 2) || !memcmp(got + 6, "\11\11", 2));
	reply_done(&reply);
	stream_free(s);
}

int
main(void)
{
	static const uint8_t ones[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
	const struct array_want how = {0};
	struct mount_options o = options_new();
	struct file *f = NULL;
	struct flat_state st;
	store = store_new("mem:read");
	o.rw = o.zmap.writable = true;
	o.unlimited = "time";
	put_text(store, ".zgroup", "{\"zarr_format\": 2}");
	put_text(store, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	put_rows(ROWS);
	put_bytes(store, "t/0", "\3\3", 2);
	mount = mount_new("mem:read", &o);
	under = mount->zmap->ops;
	ops = *under;
	ops.submit = NULL;
	ops.get = play_get;
	mount->zmap->ops = &ops;
	f = open_for(mount, "t", O_RDWR, 0);
	CHECK_INT(file_write(f, 2, (struct span){ones, ROWS - 2}, &how, 0), 0);
	struct flat *w = flats_find(mount, "t");
	flat_now(w, &st);
	cuts = true;
	read_rows(flat_variable(st.layout)->array);
	CHECK(!cuts);
	flat_state_done(&st);
	flat_put(w);
	file_close(f);
	mount->zmap->ops = under;
	mount_close(mount);
	zmap_close(store);
	return check_end();
}
