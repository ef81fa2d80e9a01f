/* A writable mount that is told late, or in another order, what threads of its have seen of the
 * metadata: no file gets shorter by that, and rows are appended behind those that there are. */
#include "mounted.h"

#include "model/node_cache.h"
#include "view/state.h"

#include <fcntl.h>

static const struct array_want how;

static void
put_rows(struct zmap *z, const char *shape)
{
	put_meta(z, "t", "\"|i1\"", shape, "[4]", "\"fill_value\": 0");
}

/* The mount with nodes of three and of four rows, of which it was told nothing so far; and an open
 * file of three. */
struct late {
	struct zmap *store;
	struct mount *mount;
	struct file *file;
	struct node *three, *four;
	model_changed_fn *tell;
};

static struct late
begin(void)
{
	struct mount_options o = options_new();
	struct late l = {.store = store_new("mem:late")};
	struct entry e = {0};
	o.rw = true;
	o.zmap.writable = true;
	o.unlimited = "time";
	put_text(l.store, ".zgroup", "{\"zarr_format\": 2}");
	put_text(l.store, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	put_rows(l.store, "[3]");
	put_bytes(l.store, "t/0", "\1\2\3\4", 4);
	l.mount = mount_new("mem:late", &o);
	l.tell = l.mount->model->changed;
	CHECK_INT(mount_lookup(l.mount, "t", &e), 0);
	CHECK_INT(file_open_for(l.mount, &e, O_RDWR, &l.file), 0);
	entry_free(&e);
	CHECK_INT(model_lookup(l.mount->model, "t", &l.three), 0);
	model_on_change(l.mount->model, NULL, NULL);
	put_rows(l.store, "[4]");
	CHECK_INT(model_look_again(l.mount->model, "t", &l.four), 0);
	CHECK_INT(l.four->array->shape[0], 4);
	return l;
}

static void
tell(struct late *l, struct node *old, struct node *now)
{
	l->tell(l->mount, old, now);
}

static void
end(struct late *l)
{
	node_unref(l->three);
	node_unref(l->four);
	file_close(l->file);
	mount_close(l->mount);
	zmap_close(l->store);
}

static void
test_order(void)
{
	struct late l = begin();
	int8_t rows[8];
	tell(&l, l.three, l.four);
	tell(&l, NULL, l.three);
	CHECK_INT(read_at(l.file, 0, sizeof rows, rows), 4);
	CHECK_INT(rows[3], 4);
	end(&l);
}

static void
test_append(void)
{
	struct late l = begin();
	int8_t rows[8];
	CHECK_INT(file_write(l.file, 3, (struct span){(const uint8_t *)"\5", 1}, &how, FILE_APPEND),
		0);
	CHECK_INT(read_at(l.file, 0, sizeof rows, rows), 5);
	CHECK_INT(rows[3], 4);
	CHECK_INT(rows[4], 5);
	CHECK_INT(file_settle(l.file, SETTLE_FLUSH, 0, NULL), 0);
	end(&l);
}

/* Of a hole only what lies behind the end becomes fill. */
static void
test_hole(void)
{
	struct late l = begin();
	int8_t rows[8];
	CHECK_INT(file_write(l.file, 5, (struct span){(const uint8_t *)"\6", 1}, &how, 0), 0);
	CHECK_INT(read_at(l.file, 0, sizeof rows, rows), 6);
	CHECK_INT(rows[3], 4);
	CHECK_INT(rows[5], 6);
	CHECK_INT(file_settle(l.file, SETTLE_FLUSH, 0, NULL), 0);
	end(&l);
}

int
main(void)
{
	test_order();
	test_append();
	test_hole();
	return check_end();
}
