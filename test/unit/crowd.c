/* Many readers of a mount while an array changes its layout again and again: each read is of one
 * layout, or an error. */
#include "mounted.h"

#include <dirent.h>
#include <pthread.h>

static const char STORE[] = "mem:crowd";

enum { READERS = 6, ROUNDS = 150, COUNT = 4096 };

static atomic_bool over;
static atomic_uint good[2], refused;

/* Two layouts with chunks of their own, all always there: only the metadata switch. */
static void
put_chunks(struct zmap *z)
{
	for (unsigned c = 0; c < 4; c++) {
		int16_t small[COUNT / 4];
		int32_t large[COUNT / 4];
		char key[32];
		for (unsigned i = 0; i < COUNT / 4; i++) {
			small[i] = 7;
			large[i] = 1234567;
		}
		snprintf(key, sizeof key, "v/0.%u", c);
		put_bytes(z, key, small, sizeof small);
		snprintf(key, sizeof key, "v/0/%u", c);
		put_bytes(z, key, large, sizeof large);
	}
}

static void
put_layout(struct zmap *z, bool large)
{
	put_meta(z, "v", large ? "\"<i4\"" : "\"<i2\"", "[1, 4096]", "[1, 1024]",
		large ? "\"fill_value\": 0, \"dimension_separator\": \"/\""
		      : "\"fill_value\": 0, \"dimension_separator\": \".\"");
}

static void
check_bytes(const void *data, size_t n, bool large)
{
	const int16_t *small_at = data;
	const int32_t *large_at = data;
	size_t wrong = 0;
	for (size_t i = 0; i < n / (large ? 4 : 2); i++)
		wrong += large ? large_at[i] != 1234567 : small_at[i] != 7;
	CHECK_INT(wrong, 0);
}

static void
read_once(struct mount *m, uint32_t *seed)
{
	static _Thread_local uint8_t got[COUNT * 4];
	struct file *f = NULL;
	int r = open_path(m, "v", &f);
	if (r) {
		CHECK(r == -ESTALE || r == -EIO);
		refused++;
		return;
	}
	bool large = file_size(f) == COUNT * 4;
	CHECK(large || file_size(f) == COUNT * 2);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t off = check_random(seed) % COUNT & ~3u;
		int64_t n = read_at(f, off, sizeof got, got);
		if (n < 0)
			refused++;
		else
			good[large]++;
		CHECK(n == -EIO || n == (int64_t)(file_size(f) - off));
		if (n > 0)
			check_bytes(got, (size_t)n, large);
	}
	file_close(f);
}

static int
count_name(void *arg, const char *name, uint64_t ino, unsigned char type)
{
	++*(unsigned *)arg;
	return 0;
}

static void *
reader(void *arg)
{
	struct mount *m = arg;
	uint32_t seed = (uint32_t)(uintptr_t)&seed;
	while (!atomic_load(&over)) {
		unsigned names = 0;
		struct entry e = {0};
		struct buf b = {0};
		read_once(m, &seed);
		CHECK_INT(mount_list(m, "", count_name, &names), 0);
		CHECK_INT(names, 4);
		CHECK_INT(mount_lookup(m, "v", &e), 0);
		CHECK_INT(mount_listxattr(m, &e, &b), 0);
		buf_free(&b);
		entry_free(&e);
		CHECK(strstr(text_of(m, ".store/w/0"), "w"));
	}
	return NULL;
}

static void
no_matter(void *arg, const char *path, enum stale_what what, int64_t pushed)
{
}

int
main(void)
{
	struct zmap *z = store_new(STORE);
	struct mount_options o = options_new();
	pthread_t thread[READERS];
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "w", "\"|S1\"", "[1]", "[1]", "\"fill_value\": null");
	put_bytes(z, "w/0", "w", 1);
	put_chunks(z);
	put_layout(z, false);
	o.model.ttl = o.data.ttl = SECOND / 1000;
	struct mount *m = mount_new(STORE, &o);
	mount_on_stale(m, no_matter, NULL);
	for (unsigned i = 0; i < READERS; i++)
		pthread_create(&thread[i], NULL, reader, m);
	/* and on, where all are so slow that none has read both */
	for (unsigned i = 0; i < ROUNDS || ((!good[0] || !good[1]) && i < 20 * ROUNDS); i++) {
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
		put_layout(z, i % 2 == 0);
		if (i % 3 == 0)
			CHECK_INT(mount_refresh(m, NULL), 0);
	}
	atomic_store(&over, true);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(thread[i], NULL);
	CHECK(good[0] > 0 && good[1] > 0);
	m = mount_close(m);
	z = zmap_close(z);
	return check_end();
}
