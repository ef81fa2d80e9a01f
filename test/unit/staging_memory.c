/* What is not stored is told, also where there is no memory: a store that refuses it, and rows that
 * another writer has cut off. */
#include "mounted.h"

#include "model/model.h"
#include "view/state.h"

#include <fcntl.h>

enum { ROWS = 8, LEFT = 5 };

static const struct array_want how;
static atomic_bool no_memory; /* for an error */

/* The linker makes them malloc(). */
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *
__wrap_malloc(size_t n)
{
	return atomic_load(&no_memory) && n == sizeof(struct err) ? NULL : __real_malloc(n);
}

static void
put_rows(struct zmap *store, unsigned rows)
{
	char shape[16];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, "t", "\"|i1\"", shape, "[2]", "\"fill_value\": 9");
}

static void
is_told(const char *url, unsigned left, const char *why)
{
	struct zmap *store = store_new("mem:memory");
	struct mount_options o = options_new();
	struct file *f = NULL;
	struct node *now = NULL;
	const uint8_t rows[ROWS] = {1};
	o.rw = o.zmap.writable = true;
	o.unlimited = "time";
	put_text(store, ".zgroup", "{\"zarr_format\": 2}");
	put_text(store, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	put_rows(store, ROWS);
	struct mount *m = mount_new(url, &o);
	f = open_for(m, "t", O_RDWR, 0);
	CHECK_INT(file_write(f, 0, (struct span){rows, ROWS}, &how, 0), 0);
	put_rows(store, left);
	atomic_store(&no_memory, true);
	CHECK_INT(model_look_again(m->model, "t", &now), 0);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), -EIO);
	atomic_store(&no_memory, false);
	CHECK(strstr(err_text(), why));
	node_unref(now);
	file_close(f);
	mount_close(m);
	zmap_close(store);
}

int
main(void)
{
	is_told("mem:memory", LEFT, "first 5 rows is lost");
	is_told("fault+mem:memory#fault.kind=eio&fault.calls=put", ROWS, "t/");
	return check_end();
}
