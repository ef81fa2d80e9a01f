/* What codecs make of other writers' bytes, known sums, chains of several, and what single codecs
 * are special in. */
#include "codec_test.h"

#include <dirent.h>

enum { SAMPLE_MAX = 1 << 16 };

/* Files of test/data/codec: a line of JSON {"id", "config", "size", "count"}, then what another
 * program made of `count` little-endian integers of `size` bytes: i / 3 + (i * i >> 3) % 5. */
static void
sample(const char *name, uint8_t *bytes, size_t len)
{
	uint8_t *line = memchr(bytes, '\n', len);
	CLEAN(json_freep) struct json *head = NULL;
	if (!line || json_parse((char *)bytes, (size_t)(line - bytes), &head) < 0)
		abort();
	int64_t size, count;
	CHECK_INT(codec_number(head, "size", 0, 1, 8, &size), 0);
	CHECK_INT(codec_number(head, "count", 0, 1, 1 << 20, &count), 0);
	CLEAN(clean_free) char *config = json_dump(json_get(head, "config"));
	struct row row = {
		json_text(json_get(head, "id"), &(size_t){0}), config, DTYPE_INT, (uint32_t)size};
	CLEAN(clean_free) uint8_t *want = malloc((size_t)(size * count));
	for (uint64_t i = 0; i < (uint64_t)count; i++)
		memcpy(want + i * (size_t)size, &(uint64_t){i / 3 + (i * i >> 3) % 5},
			(size_t)size);
	struct array a;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	array_of(&row, (uint64_t)count, &a);
	int r = open_row(&row, &a.form, &c);
	if (r == -ENOTSUP && strstr(err_text(), "which this build lacks"))
		return;
	CHECK_INT(r, 0);
	struct span enc = {line + 1, len - (size_t)(line + 1 - bytes)};
	CLEAN(clean_free) uint8_t *got = decode(c, &a.form, enc.data, enc.len, &r);
	CHECK_INT(r, 0);
	if (got)
		CHECK_MEM(got, want, a.form.bytes);
	if (got && codec_chain_ranged(c))
		parts(c, enc, &a.form, want);
	if (r < 0)
		fprintf(stderr, "… of sample '%s'\n", name);
}

static void
samples(const char *data)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/codec", data);
	DIR *d = opendir(path);
	CHECK(d);
	unsigned n = 0;
	for (struct dirent *e; d && (e = readdir(d)); n++) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/codec/%s", data, e->d_name);
		FILE *f = fopen(path, "rb");
		CLEAN(clean_free) uint8_t *bytes = malloc(SAMPLE_MAX);
		if (!f || !bytes)
			abort();
		sample(e->d_name, bytes, fread(bytes, 1, SAMPLE_MAX, f));
		fclose(f);
	}
	CHECK(n > 20);
	if (d)
		closedir(d);
}

static void
say_why(const char *id, const char *text)
{
	struct array a;
	struct row row = {id, "{}", DTYPE_INT, 4};
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	array_of(&row, 10, &a);
	CHECK_INT(open_row(&row, &a.form, &c), -ENOTSUP);
	CHECK_STR(err_text(), text);
}

/* Sums as their own specifications give them. */
static void
known_sum(const char *id, const char *config, const char *text, uint32_t sum)
{
	struct array a;
	struct row row = {id, config, DTYPE_INT, 1};
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	array_of(&row, strlen(text), &a);
	CHECK_INT(open_row(&row, &a.form, &c), 0);
	CLEAN(buf_free) struct buf enc = {0};
	CHECK_INT(codec_chain_encode(
			  c, NULL, (struct span){(const uint8_t *)text, strlen(text)}, &enc),
		0);
	uint32_t got;
	memcpy(&got, enc.data + strlen(text), 4);
	CHECK_INT(got, sum);
}

/* Two links and none: sizes between them, the room they need, and what is left when one changes
 * nothing. */
static void
chains(void)
{
	struct array a;
	struct row row = {"", "{}", DTYPE_FLOAT, 4};
	array_of(&row, 1000, &a);
	struct codec_spec spec[] = {
		{(char[]){"bitround"}, NULL}, {(char[]){"blosc"}, NULL}, {(char[]){"crc32"}, NULL}};
	CLEAN(json_freep) struct json *keep = NULL;
	CHECK_INT(json_parse("{\"keepbits\": 3}", 15, &keep), 0);
	spec[0].config = keep;
	CLEAN(codec_chain_freep) struct codec_chain *two = NULL, *three = NULL, *none = NULL;
	CHECK_INT(codec_chain_open(spec, 2, &a.form, &two), 0);
	CHECK(codec_chain_ranged(two) && !codec_chain_empty(two));
	CHECK_INT(codec_chain_scratch(two), 0);
	CHECK_INT(codec_chain_open(spec, 3, &a.form, &three), 0);
	CHECK(!codec_chain_ranged(three) && codec_chain_scratch(three) >= 4000);
	CHECK_INT(codec_chain_open(NULL, 0, &a.form, &none), 0);
	CHECK(codec_chain_ranged(none) && codec_chain_empty(none));
	CHECK_INT(codec_chain_encoded(none)->bytes, 4000);
	CLEAN(buf_free) struct buf text = {0};
	CHECK_INT(codec_chain_text(spec, 3, &text), 0);
	CHECK_INT(buf_terminate(&text), 0);
	CHECK_STR((char *)text.data, "bitround,blosc,crc32");

	uint8_t data[4000], got[4000];
	fill(data, 1000, &row, 1);
	CLEAN(buf_free) struct buf enc = {0};
	CHECK_INT(codec_chain_encode(three, NULL, (struct span){data, sizeof data}, &enc), 0);
	struct buf out = {got, 0, sizeof got};
	CHECK_INT(codec_chain_decode(three, NULL, buf_span(&enc), &out), 0);
	enc.data[enc.len / 2] ^= 1;
	CHECK_INT(codec_chain_decode(three, NULL, buf_span(&enc), &out), -EIO);
	CHECK(strstr(err_text(), "codec 'crc32': checksum is "));

	CHECK_INT(codec_chain_decode(none, NULL, (struct span){data, 3999}, &out), -EIO);
	CHECK_STR(err_text(), "stored chunk has 3999 bytes instead of 4000");
	parts(none, (struct span){data, sizeof data}, &a.form, data);
}

/* szip of a piece of a larger array: its scanlines are as long as the array's. */
static void
szip_extent(void)
{
	struct array a;
	struct row row = {"szip", "{\"mask\": 32, \"pixels-per-block\": 8}", DTYPE_INT, 2};
	CLEAN(codec_chain_freep) struct codec_chain *piece = NULL, *whole = NULL;
	array_of(&row, 300, &a);
	int r = open_row(&row, &a.form, &whole);
	if (r == -ENOTSUP)
		return; /* built without libaec */
	CHECK_INT(r, 0);
	a.form.extent = (const uint64_t[]){1003};
	CHECK_INT(open_row(&row, &a.form, &piece), 0);
	uint8_t data[600];
	fill(data, 300, &row, 1);
	CLEAN(buf_free) struct buf one = {0}, other = {0};
	CHECK_INT(codec_chain_encode(piece, NULL, (struct span){data, 600}, &one), 0);
	CHECK_INT(codec_chain_encode(whole, NULL, (struct span){data, 600}, &other), 0);
	CHECK(one.len != other.len || memcmp(one.data, other.data, one.len));
	CLEAN(clean_free) uint8_t *got = decode(piece, &a.form, one.data, one.len, &r);
	CHECK_INT(r, 0);
	CHECK_MEM(got, data, 600);
}

/* gzip in members with zero bytes behind; zlib under the name of gzip. */
static void
gzip_members(void)
{
	struct array a;
	struct row gzip = {"gzip", "{}", DTYPE_INT, 4}, zlib = {"zlib", "{}", DTYPE_INT, 4};
	CLEAN(codec_chain_freep) struct codec_chain *half = NULL, *whole = NULL, *z = NULL;
	uint8_t data[400];
	fill(data, 100, &gzip, 1);
	array_of(&gzip, 100, &a);
	CHECK_INT(open_row(&gzip, &a.form, &whole), 0);
	CHECK_INT(open_row(&zlib, &a.form, &z), 0);
	CLEAN(buf_free) struct buf one = {0}, members = {0};
	CHECK_INT(codec_chain_encode(z, NULL, (struct span){data, 400}, &one), 0);
	int r;
	CLEAN(clean_free) uint8_t *got = decode(whole, &a.form, one.data, one.len, &r);
	CHECK_INT(r, 0);
	CHECK_MEM(got, data, 400);

	struct array b;
	array_of(&gzip, 50, &b);
	CHECK_INT(open_row(&gzip, &b.form, &half), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(codec_chain_encode(half, NULL, (struct span){data + i * 200, 200}, &one),
			0);
		CHECK_INT(buf_add(&members, one.data, one.len), 0);
	}
	CHECK_INT(buf_add(&members, "\0\0\0", 3), 0);
	CLEAN(clean_free) uint8_t *both = decode(whole, &a.form, members.data, members.len, &r);
	CHECK_INT(r, 0);
	CHECK_MEM(both, data, 400);
	free(decode(half, &b.form, members.data, members.len, &r));
	CHECK_INT(r, -EIO);
}

int
main(void)
{
	const char *data = getenv("ZARRFS_TEST_DATA");
	CHECK(data);
	if (data)
		samples(data);
	say_why("pickle", "codec 'pickle' is never decoded: it can run code");
	say_why("lerc", "unknown codec 'lerc'");
	known_sum("crc32c", "{}", "123456789", 0xe3069283);
	known_sum("crc32", "{\"location\": \"end\"}", "123456789", 0xcbf43926);
	known_sum("adler32", "{\"location\": \"end\"}", "Wikipedia", 0x11e60398);
	known_sum("jenkins_lookup3", "{}", "Four score and seven years ago", 0x17770551);
	known_sum("jenkins_lookup3", "{\"initval\": 1}", "Four score and seven years ago",
		0xcd628161);
	known_sum("jenkins_lookup3", "{\"prefix\": \"Four score\", \"initval\": 1}",
		" and seven years ago", 0xcd628161);
	chains();
	gzip_members();
	szip_extent();
	codec_scratch_free();
	return check_end();
}
