/* A row is appended to a variable while another one that shares its dimension is made shorter: it
 * comes behind the new end, and stays. */
#include "mounted.h"
#include "told.h"

#include <pthread.h>
#include <unistd.h>

static struct zmap_ops ops;
static const struct zmap_ops *under;
static struct file *file[2];
static pthread_t thread;
static atomic_bool appended;
static int looks;

static void *
append(void *arg)
{
	const struct array_want how = {0};
	CHECK_INT(file_write(file[1], 5, (struct span){arg, 1}, &how, FILE_APPEND), 0);
	atomic_store(&appended, true);
	return NULL;
}

/* Chunks of the first variable are being removed: the other one is as short, too. The row may come
 * now, or wait. */
static int
play_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	static uint8_t row[] = {7};
	if (!strcmp(key, "a/3") && ++looks == 2) {
		pthread_create(&thread, NULL, append, row);
		for (int i = 0; i < 50 && !atomic_load(&appended); i++)
			usleep(10000);
	}
	return under->stat(z, key, cancel, ret);
}

static void
put_variable(struct zmap *store, const char *name)
{
	char key[16];
	snprintf(key, sizeof key, "%s/.zattrs", name);
	put_text(store, key, "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	put_meta(store, name, "\"|i1\"", "[8]", "[2]", "\"fill_value\": 0");
	for (unsigned c = 0; c < 4; c++) {
		snprintf(key, sizeof key, "%s/%u", name, c);
		put_bytes(store, key, "\1\2", 2);
	}
}

int
main(void)
{
	struct mount_options o = options_new();
	struct zmap *store = store_new("mem:both");
	uint8_t got[8] = {0};
	o.rw = o.zmap.writable = true;
	o.unlimited = "time";
	put_text(store, ".zgroup", "{\"zarr_format\": 2}");
	put_variable(store, "a");
	put_variable(store, "b");
	struct mount *m = mount_new("mem:both", &o);
	under = m->zmap->ops;
	ops = *under;
	ops.submit = NULL;
	ops.stat = play_stat;
	m->zmap->ops = &ops;
	for (size_t i = 0; i < 2; i++) {
		file[i] = open_for(m, i ? "b" : "a", O_RDWR, 0);
	}
	CHECK_INT(file_truncate(file[0], 5, RESIZE_HANDLE, NULL), 0);
	CHECK_INT(looks, 2);
	pthread_join(thread, NULL);
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), 0);
	CHECK_INT(read_at(file[1], 0, 8, got), 6);
	CHECK_INT(got[5], 7);
	for (size_t i = 0; i < 2; i++)
		file_close(file[i]);
	m->zmap->ops = under;
	mount_close(m);
	zmap_close(store);
	return check_end();
}
