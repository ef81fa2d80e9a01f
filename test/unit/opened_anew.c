/* A program has seen a change of a shard, and opens a file of it: it is shown nothing of the
 * version before, though other handles that read it are still open. */
#include "kernel.h"

enum { PAGE = 4096, ARRAYS = 5 };

/* Two chunks, each a page of the file, and the index. */
static void
put_shard(struct zmap *z, const char *array, int value)
{
	struct {
		uint8_t chunk[2][PAGE];
		uint64_t index[2][2];
	} shard = {.index = {{0, PAGE}, {PAGE, PAGE}}};
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
		"{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [8192], "
		"\"data_type\": \"uint8\", \"fill_value\": 0, "
		"\"chunk_grid\": {\"name\": \"regular\", \"configuration\": "
		"{\"chunk_shape\": [8192]}}, "
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

static void
changes(struct kernel *k)
{
	struct zmap *z = store_new("mem:opened");
	kernel_begin(k, 45);
	for (int i = 0; i < ARRAYS; i++) {
		char name[16];
		struct kernel_file other, f = {.opened = O_RDONLY | O_DIRECT};
		snprintf(name, sizeof name, "a%d", i);
		put_shard(z, name, 1);
		other = kernel_open(k, name, O_RDONLY | O_DIRECT);
		CHECK_INT(first_byte(k, &other, 0), 1);
		put_shard(z, name, 2);
		CHECK_INT(first_byte(k, &other, PAGE), 2);
		wait_for_retired(k, name, other.inode);
		f.inode = other.inode;
		if (kernel_open_inode(k, &f) == -ESTALE)
			f = kernel_open(k, name, O_RDONLY | O_DIRECT);
		CHECK_INT(first_byte(k, &f, 0), 2);
		CHECK_INT(first_byte(k, &f, PAGE), 2);
		kernel_close(k, &f);
		CHECK_INT(first_byte(k, &other, 0), 1); /* what it had before */
		kernel_close(k, &other);
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
