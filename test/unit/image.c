/* Values written into a netCDF file whose variables are arrays in memory, and what then is in the
 * arrays. */
#include "image_shop.h"

#include "view/image/viewed.h"

#include <endian.h>

/* All of the file, written back, changes nothing; one value in the midst of a page changes that
 * one. What its writer has not seen is written though it is there. */
static void
test_values(bool records)
{
	struct shop s;
	struct image *im = open_image(&s, records);
	const uint64_t size = image_size(im);
	uint8_t *all = malloc(size);
	size_t n = 0;
	struct array_want w = {.len = size};
	struct viewed seen = {.most = MOST};
	CHECK_INT(image_read(im, &w, &seen, all, &n), 0);
	CHECK_INT(n, size);
	CHECK_INT(image_write(im, 0, (struct span){all, size}, &seen, &how), 0);
	CHECK_INT(find_array(&s, "v")->writes + find_array(&s, "time")->writes, 0);
	uint64_t at = begin_of(im, 2, records) + (records ? 2 * 20 : 2 * X * 2) + 3 * 2;
	CHECK_INT(all[at + 1], 100 + 2 * X + 3);
	all[at + 1] = 7;
	CHECK_INT(image_write(im, at - 30, (struct span){all + at - 30, 36}, &seen, &how), 0);
	CHECK_INT(find_array(&s, "v")->data[2 * X + 3], 7);
	CHECK_INT(find_array(&s, "v")->writes, 1);
	CHECK_INT(put(im, at, all + at, 2), 0);
	CHECK_INT(find_array(&s, "v")->writes, 2);
	image_leave(im, &seen);
	CHECK(!image_waits(im));
	/* Too large for a byte: refused, with all that came with it. */
	all[at] = 1;
	all[at + 2] = 0;
	all[at + 3] = 9;
	CHECK_INT(put(im, at, all + at, 4), -ERANGE);
	CHECK_INT(find_array(&s, "v")->data[2 * X + 3], 7);
	CHECK_INT(find_array(&s, "v")->data[2 * X + 4], 100 + 2 * X + 4);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_INT(s.flushes, 1);
	CHECK_STR(s.said, "");
	free(all);
	close_shop(&s, im);
}

/* The first half of a number is as its writer saw it: the whole of it is written, with that half.
 */
static void
test_half(void)
{
	struct shop s;
	struct image *im = open_image(&s, false);
	struct viewed seen = {.most = MOST};
	struct array_want w = {.off = begin_of(im, 1, false), .len = 8};
	int64_t *time = (void *)find_array(&s, "time")->data;
	uint8_t of[8];
	size_t n = 0;
	time[0] = INT64_C(1) << 40;
	CHECK_INT(image_read(im, &w, &seen, of, &n), 0);
	time[0] = -5;
	CHECK_INT(image_write(im, w.off, (struct span){of, 4}, &seen, &how), 0);
	of[5] = 1;
	CHECK_INT(image_write(im, w.off + 4, (struct span){of + 4, 4}, &seen, &how), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_INT(time[0], (INT64_C(1) << 40) + (1 << 4));
	image_leave(im, &seen);
	close_shop(&s, im);
}

/* Half a number is none: 1e300 for a moment. */
static void
test_parts(void)
{
	struct shop s;
	struct image *im = open_image(&s, false);
	uint64_t at = begin_of(im, 1, false) + 8, bits;
	double d = -123456;
	memcpy(&bits, &d, 8);
	bits = htobe64(bits);
	for (int i = 0; i < 8; i++) {
		CHECK_INT(time_at(&s, 1), 11);
		CHECK_INT(put(im, at + (uint64_t)i, (uint8_t *)&bits + i, 1), 0);
	}
	CHECK_INT(time_at(&s, 1), -123456);
	/* What is missing when the file is asked for is what was there. */
	d = -123457;
	memcpy(&bits, &d, 8);
	bits = htobe64(bits);
	CHECK_INT(put(im, at + 2, (uint8_t *)&bits + 2, 6), 0);
	CHECK_INT(time_at(&s, 1), -123456);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_INT(time_at(&s, 1), -123457);
	bits = htobe64(UINT64_C(0x3fe0000000000000)); /* 0.5 */
	CHECK_INT(put(im, at, &bits, 4), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), -ERANGE);
	close_shop(&s, im);
}

int
main(void)
{
	test_values(false);
	test_values(true);
	test_parts();
	test_half();
	return check_end();
}
