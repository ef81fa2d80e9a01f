/* Chunks that a library would take, though they say things that no encoder writes: each is an
 * error, whole and in part, and shows no byte of what its memory held before. */
#include "codec_test.h"

enum { SIZE = 4096, HEADER = 16, START = 4, LITERALS = 12 };
enum {
	BLOSC_SHUFFLE = 0x1,
	BLOSC_PLAIN = 0x2,
	BLOSC_BITSHUFFLE = 0x4,
	BLOSC_FUTURE = 0x8,
	BLOSC_NOT_SPLIT = 0x10,
	BLOSC_LZ4 = 1 << 5,
};

/* An LZ4 block of SIZE bytes: a literal, a match at that distance, LITERALS literals. */
static size_t
lz4_block(uint8_t *to, unsigned distance)
{
	uint8_t *p = to;
	*p++ = 0x1f;
	*p++ = 'x';
	*p++ = (uint8_t)distance;
	*p++ = 0;
	size_t rest = SIZE - 1 - LITERALS - 4 - 15;
	for (; rest >= 255; rest -= 255)
		*p++ = 255;
	*p++ = (uint8_t)rest;
	*p++ = LITERALS << 4;
	memset(p, 'y', LITERALS);
	return (size_t)(p + LITERALS - to);
}

static void
put_u32(uint8_t *to, size_t v)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(v >> 8 * i);
}

static size_t
lz4_chunk(uint8_t *to, unsigned distance)
{
	put_u32(to, SIZE);
	return 4 + lz4_block(to + 4, distance);
}

/* A Blosc buffer of one block that is not split nor shuffled; with BLOSC_PLAIN, the data as they
 * are. */
static size_t
blosc_chunk(uint8_t *to, unsigned distance, unsigned flags)
{
	uint8_t *p = to + HEADER;
	if (flags & BLOSC_PLAIN) {
		memset(p, 'x', SIZE);
		p += SIZE;
	} else {
		size_t n = lz4_block(p + 2 * START, distance);
		put_u32(p, HEADER + START);
		put_u32(p + START, n);
		p += 2 * START + n;
	}
	memcpy(to, (uint8_t[]){2, 1, (uint8_t)(flags | BLOSC_NOT_SPLIT | BLOSC_LZ4), 1}, 4);
	put_u32(to + 4, SIZE);
	put_u32(to + 8, SIZE);
	put_u32(to + 12, (size_t)(p - to));
	return (size_t)(p - to);
}

/* Decodes to 'x' up to the last literals, or is an error throughout. */
static void
expect(const char *id, struct span enc, int want)
{
	struct array a;
	struct row row = {id, "{}", DTYPE_INT, 1};
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	array_of(&row, SIZE, &a);
	CHECK_INT(open_row(&row, &a.form, &c), 0);
	int r;
	CLEAN(clean_free) uint8_t *got = decode(c, &a.form, enc.data, enc.len, &r);
	CHECK_INT(r, want);
	CHECK(want < 0 || (got && got[0] == 'x' && got[SIZE - LITERALS - 1] == 'x'));
	uint8_t some[100];
	struct codec_src src = {.size = enc.len, .mem = enc.data};
	if (codec_chain_ranged(c))
		CHECK_INT(codec_chain_decode_range(c, &src, 3000, sizeof some, some), want);
}

/* The distances of matches: 1 is right, 0 and 2 (before the output) are not. */
static void
distances(void)
{
	uint8_t enc[SIZE];
	for (unsigned distance = 0; distance < 3; distance++) {
		int want = distance == 1 ? 0 : -EIO;
		expect("lz4", (struct span){enc, lz4_chunk(enc, distance)}, want);
		expect("blosc", (struct span){enc, blosc_chunk(enc, distance, 0)}, want);
	}
}

/* Bytes 0, 1 and 2 of a Blosc header: the format, the format of the compressor, flags. */
static void
blosc_headers(void)
{
	static const struct {
		uint8_t at, value;
		int want;
	} changes[] = {
		{0, 1, 0},
		{0, 0, -EIO},
		{0, 3, -EIO},
		{0, 0x82, -EIO},
		{1, 0, -EIO},
		{1, 2, -EIO},
		{1, 0x81, -EIO},
		{2, BLOSC_FUTURE, -EIO},
		{2, BLOSC_SHUFFLE | BLOSC_BITSHUFFLE, -EIO},
	};
	uint8_t enc[HEADER + SIZE];
	for (size_t i = 0; i < 2 * (sizeof changes / sizeof *changes); i++) {
		size_t at = changes[i / 2].at, value = changes[i / 2].value;
		struct span all = {enc, blosc_chunk(enc, 1, i % 2 ? BLOSC_PLAIN : 0)};
		expect("blosc", all, 0);
		enc[at] = (uint8_t)(at == 2 ? enc[at] | value : value);
		expect("blosc", all, changes[i / 2].want);
	}
}

int
main(void)
{
	distances();
	blosc_headers();
	codec_scratch_free();
	return check_end();
}
