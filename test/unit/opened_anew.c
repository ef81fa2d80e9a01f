/* A program has seen a change of a shard, and opens a file of it: it is shown nothing of the
 * version before, though other handles that read it are still open. */
#include "kernel.h"

enum { PAGE = 4096, ARRAYS = 5 };

/* Three chunks, each a page of the file, and the index. */
static void
put_shard(struct zmap *z, const char *array, int value)
{
	struct {
		uint8_t chunk[3][PAGE];
		uint64_t index[3][2];
	} shard = {.index = {{0, PAGE}, {PAGE, PAGE}, {2 * PAGE, PAGE}}};
	char key[32];
	snprintf(key, sizeof key, "%s/c/0", array);
	memset(shard.chunk, value, sizeof shard.chunk);
	put_bytes(z, key, &shard, sizeof shard);
}

static void
put_array(struct zmap *z, const char *array)
{
	char key[32];
	snprintf(key, sizeof key, "%s/zarr.json", array);
	put_text(z, key,
		"{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [12288], "
		"\"data_type\": \"uint8\", \"fill_value\": 0, "
		"\"chunk_grid\": {\"name\": \"regular\", \"configuration\": "
		"{\"chunk_shape\": [12288]}}, "
		"\"chunk_key_encoding\": {\"name\": \"default\"}, "
		"\"codecs\": [{\"name\": \"sharding_indexed\", \"configuration\": "
		"{\"chunk_shape\": [4096], \"codecs\": [{\"name\": \"bytes\"}], "
		"\"index_codecs\": [{\"name\": \"bytes\", \"configuration\": "
		"{\"endian\": \"little\"}}]}}]}");
}

static int
first_byte(struct kernel *k, const struct kernel_file *f, uint64_t off)
{
	return kernel_read(k, f, KERNEL_PAST, off, PAGE) == PAGE ? k->bytes[0] : -1;
}

/* The name leads to another inode; the kernel may not know that yet. */
static void
wait_for_retired(struct kernel *k, const char *array, uint64_t inode)
{
	while (kernel_look_up(k, array) == inode)
		;
}

/* The kernel's name leads to that inode. It looks the name up anew if that may not be opened. */
static struct kernel_file
open_known(struct kernel *k, const char *array, uint64_t inode)
{
	struct kernel_file f = {.inode = inode, .opened = O_RDONLY};
	if (kernel_open_inode(k, &f) == -ESTALE)
		f = kernel_open(k, array, O_RDONLY);
	return f;
}

/* A handle of the array has its first page, and another version is noticed at another one. */
static struct kernel_file
change(struct kernel *k, struct zmap *z, const char *array, uint64_t at, int to)
{
	struct kernel_file f = kernel_open(k, array, O_RDONLY | O_DIRECT);
	CHECK_INT(first_byte(k, &f, 0), to - 1);
	put_shard(z, array, to);
	CHECK_INT(first_byte(k, &f, at), to);
	wait_for_retired(k, array, f.inode);
	return f;
}

static void
changes(struct kernel *k)
{
	struct zmap *z = store_new("mem:opened");
	kernel_begin(k, 45);
	for (int i = 0; i < ARRAYS; i++) {
		char name[16];
		struct kernel_file one, two, f;
		snprintf(name, sizeof name, "a%d", i);
		put_shard(z, name, 1);
		one = change(k, z, name, PAGE, 2);
		f = open_known(k, name, one.inode);
		CHECK_INT(first_byte(k, &f, 0), 2);
		CHECK_INT(first_byte(k, &f, PAGE), 2);
		kernel_close(k, &f);

		/* before that of a program that was sent to it is opened there is yet another */
		two = change(k, z, name, 2 * PAGE, 3);
		f.inode = two.inode;
		if (kernel_open_inode(k, &f) > 0) {
			CHECK(f.flags & FOPEN_DIRECT_IO);
			CHECK_INT(first_byte(k, &f, 0), 3);
			CHECK_INT(kernel_read(k, &f, KERNEL_PAGES, 0, PAGE), PAGE);
			CHECK_INT(k->bytes[0], 2); /* pages are those of all handles */
			kernel_close(k, &f);
		}
		CHECK_INT(first_byte(k, &one, 0), 1); /* what they had before */
		CHECK_INT(first_byte(k, &two, 0), 2);
		kernel_close(k, &one);
		kernel_close(k, &two);
	}
	zmap_close(z);
}

int
main(void)
{
	char store[] = "mem:opened", options[] = "metadata_ttl=600";
	struct zmap *z = store_new(store);
	put_text(z, "zarr.json", "{\"zarr_format\": 3, \"node_type\": \"group\"}");
	for (int i = 0; i < ARRAYS; i++) {
		char name[16];
		snprintf(name, sizeof name, "a%d", i);
		put_array(z, name);
	}
	kernel_mount(store, options, changes);
	zmap_close(z);
	return check_end();
}
