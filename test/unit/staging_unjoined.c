/* A chunk that could not be stored has bytes that were written meanwhile, and there is no memory to
 * join them: both are stored later, and what they took is given back to the last byte. */
#include "mounted.h"

#include "data/array.h"
#include "view/state.h"

#include <fcntl.h>

enum { CHUNK = 4096, FAR = 2000, WORD = 64 };

static const struct array_want how;
static struct zmap_ops ops;
static const struct zmap_ops *under;
static struct file *file;
static struct mount *mount;
static unsigned calls;
static atomic_bool no_memory; /* for which bytes of a whole chunk are written */
static atomic_uint refused;

/* The linker makes them calloc(). */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *
__wrap_calloc(size_t n, size_t size)
{
	if (!atomic_load(&no_memory) || n != CHUNK / WORD || size != sizeof(uint64_t))
		return __real_calloc(n, size);
	atomic_fetch_add(&refused, 1);
	return NULL;
}

static uint64_t
staged_bytes(void)
{
	static const char name[] = "zarrfs_staged_bytes ";
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(data_stats(mount->data, &b), 0);
	CHECK_INT(buf_add(&b, "", 1), 0);
	const char *at = strstr((const char *)b.data, name);
	CHECK(at);
	return at ? strtoull(at + sizeof name - 1, NULL, 10) : UINT64_MAX;
}

static int
play_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	if (++calls > 1) {
		CHECK(calls < 3 || staged_bytes() < CHUNK); /* the first ones are stored */
		return under->put(z, p, ret);
	}
	CHECK_INT(file_write(file, FAR, (struct span){(const uint8_t *)"\2\2", 2}, &how, 0), 0);
	atomic_store(&no_memory, true);
	return err_set(-EIO, "refused");
}

static void
play(void)
{
	CLEAN(buf_free) struct buf said = {0};
	uint8_t got[CHUNK];
	under = mount->zmap->ops;
	ops = *under;
	ops.put = play_put;
	mount->zmap->ops = &ops;
	CHECK_INT(file_write(file, 0, (struct span){(const uint8_t *)"\1\1", 2}, &how, 0), 0);
	CHECK_INT(file_settle(file, SETTLE_FLUSH, 0, NULL), -EIO);
	CHECK(atomic_load(&refused));
	atomic_store(&no_memory, false);
	CHECK_INT(mount_refresh(mount, &said), 0);
	CHECK_INT(calls, 3);
	CHECK_INT(staged_bytes(), 0);
	mount->zmap->ops = under;
	CHECK_INT(read_at(file, 0, CHUNK, got), CHUNK);
	CHECK(!memcmp(got, "\1\1\0", 3));
	CHECK(!memcmp(got + FAR - 1, "\0\2\2\0", 4));
}

int
main(void)
{
	struct zmap *store = store_new("mem:unjoined");
	struct mount_options o = options_new();
	struct entry e = {0};
	o.rw = o.zmap.writable = true;
	put_text(store, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(store, "t", "\"|i1\"", "[4096]", "[4096]", "\"fill_value\": 0");
	mount = mount_new("mem:unjoined", &o);
	CHECK_INT(mount_lookup(mount, "t", &e), 0);
	CHECK_INT(file_open_for(mount, &e, O_RDWR, &file), 0);
	entry_free(&e);
	play();
	file_close(file);
	mount_close(mount);
	zmap_close(store);
	return check_end();
}
