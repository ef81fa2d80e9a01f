/* How new arrays are cut into chunks. */
#include "check.h"

#include "view/image/image_new.h"

static void
chunks(uint64_t item, unsigned rank, const uint64_t *shape, const uint64_t *want)
{
	uint64_t got[4], bytes = item;
	image_new_chunk(item, rank, shape, 4 << 20, got);
	for (unsigned i = 0; i < rank; i++) {
		CHECK_INT(got[i], want[i]);
		bytes *= got[i];
	}
	CHECK(bytes <= 5 << 20);
}

/* A shard is so many whole chunks, and no more than there are. */
static void
test_shards(void)
{
	const uint64_t shape[] = {8760, 721, 1440}, chunk[] = {94, 73, 144};
	uint64_t got[3], bytes = 4;
	image_new_shard(4, 3, shape, chunk, 256 << 20, UINT64_MAX, got);
	for (unsigned i = 0; i < 3; i++) {
		CHECK_INT(got[i] % chunk[i], 0);
		CHECK(got[i] < shape[i] + chunk[i]);
		bytes *= got[i];
	}
	CHECK(bytes > 64 << 20 && bytes <= 256 << 20);
	image_new_shard(4, 3, shape, chunk, 1, UINT64_MAX, got);
	for (unsigned i = 0; i < 3; i++)
		CHECK_INT(got[i], chunk[i]);
}

/* What lies in file order between a chunk's beginning and its end fits into memory, however little
 * that is. */
static void
slab(uint64_t most, const uint64_t *want)
{
	const uint64_t shape[] = {400, 512, 512};
	uint64_t got[3], bytes = 4;
	image_new_slab(4, 3, shape, 4 << 20, most, got);
	for (unsigned i = 0; i < 3; i++) {
		CHECK_INT(got[i], want[i]);
		bytes *= got[i];
	}
	CHECK(bytes <= 5 << 20);
}

static void
test_bands(void)
{
	slab(UINT64_MAX, (const uint64_t[]){40, 128, 171});
	slab(64 << 20, (const uint64_t[]){40, 128, 171});
	slab(16 << 20, (const uint64_t[]){16, 256, 256});
	slab(1 << 20, (const uint64_t[]){1, 512, 512});
	slab(100 << 10, (const uint64_t[]){1, 47, 512});
	slab(1 << 10, (const uint64_t[]){1, 1, 256});
}

int
main(void)
{
	test_shards();
	test_bands();
	chunks(4, 3, (const uint64_t[]){8760, 721, 1440}, (const uint64_t[]){94, 73, 144});
	chunks(4, 3, (const uint64_t[]){12, 20, 30}, (const uint64_t[]){12, 20, 30});
	chunks(8, 1, (const uint64_t[]){10000000}, (const uint64_t[]){500000});
	chunks(4, 2, (const uint64_t[]){0, 1000}, (const uint64_t[]){1, 1000});
	chunks(4, 3, (const uint64_t[]){1, 20000, 40000}, (const uint64_t[]){1, 715, 1429});
	chunks(8, 0, NULL, NULL);
	return check_end();
}
