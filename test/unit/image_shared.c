/* A netCDF file into whose variables others write, too: blocks that a program writes back, and
 * records that both make. */
#include "image_shop.h"

#include "view/image/viewed.h"

#include <endian.h>

static uint8_t *
read_all(struct image *im, struct viewed *seen)
{
	const uint64_t size = image_size(im);
	struct array_want w = {.len = size};
	uint8_t *all = malloc(size);
	size_t n = 0;
	CHECK_INT(image_read(im, &w, seen, all, &n), 0);
	CHECK_INT(n, size);
	return all;
}

static int
put_seen(struct image *im, uint64_t off, const void *bytes, size_t n, struct viewed *seen)
{
	return image_write(im, off, (struct span){bytes, n}, seen, &how);
}

/* What a block has of others' values is older than theirs. */
static void
test_block(void)
{
	struct shop s;
	struct image *im = open_image(&s, true);
	struct viewed seen = {.most = MOST};
	uint8_t *all = read_all(im, &seen), *v = find_array(&s, "v")->data;
	const uint64_t size = image_size(im), at = begin_of(im, 2, true);
	v[3] = 200;
	all[at + 1] = 7;
	CHECK_INT(put_seen(im, 0, all, size, &seen), 0);
	CHECK_INT(v[0], 7);
	CHECK_INT(v[3], 200);
	v[0] = 8;
	all[at + 3] = 9;
	CHECK_INT(put_seen(im, 0, all, size, &seen), 0);
	CHECK_INT(v[0], 8);
	CHECK_INT(v[1], 9);
	/* By another handle, which has seen nothing, it counts as what it is; then it is not what
	 * the first one has seen. */
	all[at + 3] = 10;
	CHECK_INT(put(im, 0, all, size), 0);
	CHECK_INT(v[0], 7);
	CHECK_INT(v[3], 103);
	v[1] = 11;
	CHECK_INT(put_seen(im, 0, all, size, &seen), 0);
	CHECK_INT(v[1], 10);
	image_leave(im, &seen);
	free(all);
	close_shop(&s, im);
}

/* The same while it waits; and of a record what a library lays there stays away from others'. */
static void
test_record(uint64_t theirs)
{
	static const uint8_t fill[20] = {
		0x47, 0x9e, 0, 0, 0, 0, 0, 0, 0, 50, 0, 51, 0x80, 1, 0, 53, 0, 54};
	struct shop s;
	struct image *im = open_image(&s, true);
	struct viewed seen = {.most = MOST};
	uint8_t *all = read_all(im, &seen), *v = find_array(&s, "v")->data;
	const uint64_t size = image_size(im), at = begin_of(im, 2, true);
	int64_t *time = (void *)find_array(&s, "time")->data;
	const uint32_t count = htobe32(TIME + 1);
	CHECK_INT(put_seen(im, size, fill, sizeof fill, &seen), 0);
	CHECK(image_waits(im));
	v[3] = 200;
	v[TIME * X + 2] = 99;
	time[TIME] = 1000;
	s.theirs = theirs;
	all[at + 1] = 7;
	memcpy(all + 4, &count, 4);
	CHECK_INT(put_seen(im, 0, all, size, &seen), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_STR(s.said, "time=5;");
	CHECK_INT(v[0], 7);
	CHECK_INT(v[3], 200);
	CHECK_INT(v[TIME * X + 1], 51);
	CHECK_INT(v[TIME * X + 2], 99);
	CHECK_INT(time_at(&s, TIME), 1000);
	image_leave(im, &seen);
	free(all);
	close_shop(&s, im);
}

/* Zeros in a record: no program's, unless the library has laid fill into another variable of it.
 */
static void
test_zeros(bool filled)
{
	struct shop s;
	struct image *im = open_image(&s, true);
	struct viewed seen = {.most = MOST};
	uint8_t *all = read_all(im, &seen), *v = find_array(&s, "v")->data;
	const uint64_t size = image_size(im);
	const uint32_t count = htobe32(TIME + 1);
	uint8_t record[20] = {0x40};
	if (filled)
		record[0] = 0x47, record[1] = 0x9e;
	memset(v + TIME * X, 99, X);
	s.theirs = TIME + 1;
	CHECK_INT(put_seen(im, size, record, sizeof record, &seen), 0);
	memcpy(all + 4, &count, 4);
	CHECK_INT(put_seen(im, 0, all, size, &seen), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_INT(v[TIME * X + 1], filled ? 0 : 99);
	image_leave(im, &seen);
	free(all);
	close_shop(&s, im);
}

/* The next record is there before the header that counts it, and is settled in between. */
static void
test_uncounted(void)
{
	struct shop s;
	struct image *im = open_image(&s, true);
	struct viewed seen = {.most = MOST};
	const uint64_t size = image_size(im);
	uint8_t *all = read_all(im, &seen), record[40] = {0}, *again;
	record[9] = 50;
	record[29] = 60;
	CHECK_INT(put_seen(im, size, record, sizeof record, &seen), 0);
	for (uint32_t n = TIME + 1; n <= TIME + 2; n++) {
		const uint32_t count = htobe32(n);
		memcpy(all + 4, &count, 4);
		CHECK_INT(put_seen(im, 0, all, begin_of(im, 1, true), &seen), 0);
		CHECK_INT(image_settle(im, IMAGE_LOOK, &how), 0);
		CHECK(!image_waits(im));
		CHECK_INT(image_size(im), size + sizeof record);
	}
	CHECK_STR(s.said, "time=5;time=6;");
	CHECK_INT(find_array(&s, "v")->data[TIME * X], 50);
	CHECK_INT(find_array(&s, "v")->data[(TIME + 1) * X], 60);
	again = read_all(im, &seen);
	CHECK_MEM(again + size, record, sizeof record);
	image_leave(im, &seen);
	free(again);
	free(all);
	close_shop(&s, im);
}

static void
change_title(struct image *im, const uint8_t *all, uint64_t size)
{
	const uint8_t *title = memmem(all, size, "one", 3);
	CHECK(title);
	CHECK_INT(put(im, title ? (uint64_t)(title - all) : 0, "two", 3), 0);
	CHECK(image_waits(im));
}

/* A page of a mapping comes back, with what it showed but for one byte, while the image waits for
 * its header. Of the rest others have written some since, by another view, by another handle, and
 * behind the end; and of an element that the page has changed another byte. */
static void
test_page(void)
{
	struct shop s;
	struct image *im = open_image(&s, true);
	const uint64_t at = begin_of(im, 2, true), x = begin_of(im, 0, true);
	uint8_t *v = find_array(&s, "v")->data, record[20] = {0}, *was, *now;
	uint32_t *xs = (void *)find_array(&s, "x")->data;
	was = read_all(im, NULL);
	change_title(im, was, image_size(im));
	free(was);
	const uint64_t end = image_size(im);
	CHECK_INT(put(im, end, record, sizeof record), 0);
	const uint64_t size = image_size(im);
	was = read_all(im, NULL);
	now = read_all(im, NULL);
	v[3] = 200;
	xs[2] = 0xbf800000;
	CHECK_INT(put(im, at + 2 * 4, "\0\62", 2), 0);
	CHECK_INT(put(im, end + 8, "\0\77", 2), 0);
	now[at + 1] = 7;
	now[x + 2 * 4 + 3] = 1;
	now[end + 13] = 5;
	const struct array_want page = {.shown = was};
	CHECK_INT(image_write_page(im, 0, (struct span){now, size}, &page), 0);
	CHECK(image_waits(im));
	free(was);
	was = read_all(im, NULL);
	CHECK_INT(was[at + 1], 7);
	CHECK_INT(was[at + 2 * 3 + 1], 200);
	CHECK_INT(was[at + 2 * 4 + 1], 50);
	CHECK_INT(was[end + 9], 63);
	CHECK_INT(was[end + 13], 5);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_STR(s.said, ":title;");
	CHECK_INT(v[0], 7);
	CHECK_INT(v[3], 200);
	CHECK_INT(v[4], 50);
	CHECK_INT(xs[2], 0x40000001);
	free(was);
	free(now);
	close_shop(&s, im);
}

int
main(void)
{
	test_page();
	test_uncounted();
	test_block();
	test_record(0);
	test_record(TIME + 1);
	test_zeros(false);
	test_zeros(true);
	return check_end();
}
