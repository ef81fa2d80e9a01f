/* The LZ4 decoder against liblz4's: what liblz4 encodes, that damaged anywhere, and blocks as only
 * others write them. */
#include "check.h"

#include "test/lz4_both.h"

#include <lz4hc.h>

enum { SIZE_MAX_HERE = 3000, ROUNDS = 3000, CHANGES = 12, HC_LEVEL = 9 };

static uint32_t seed = 11;

static void
both(const char *what, struct span in, size_t n, size_t stop)
{
	const char *wrong = both_decode(in, n, stop);
	if (wrong)
		fprintf(stderr, "%s, %zu bytes, %zu of %zu decoded: %s\n", what, in.len, stop, n,
			wrong);
	CHECK(!wrong);
}

/* Runs with periods from 1 to 40, of bytes that are more or less alike. */
static void
fill(uint8_t *p, size_t n)
{
	size_t period = check_random(&seed) % 40 + 1, noise = check_random(&seed) % 60 + 2;
	for (size_t i = 0; i < n; i++) {
		bool new = i < period || check_random(&seed) % noise == 0;
		p[i] = new ? (uint8_t)check_random(&seed) : p[i - period];
		if (check_random(&seed) % 200 == 0)
			period = check_random(&seed) % 40 + 1;
	}
}

static size_t
encode(const uint8_t *p, size_t n, uint8_t *to, size_t cap)
{
	bool hc = check_random(&seed) % 2;
	int r = hc ? LZ4_compress_HC((const char *)p, (char *)to, (int)n, (int)cap, HC_LEVEL)
		   : LZ4_compress_default((const char *)p, (char *)to, (int)n, (int)cap);
	CHECK(r > 0);
	return r > 0 ? (size_t)r : 0;
}

static void
random_blocks(void)
{
	uint8_t data[SIZE_MAX_HERE], enc[2 * SIZE_MAX_HERE];
	for (int i = 0; i < ROUNDS && !check_failed; i++) {
		size_t n = check_random(&seed) % SIZE_MAX_HERE + 1;
		fill(data, n);
		size_t len = encode(data, n, enc, sizeof enc);
		uint8_t *exact = malloc(len);
		memcpy(exact, enc, len);
		CLEAN(clean_free) uint8_t *got = both_own((struct span){exact, len}, n, n, 0);
		CHECK(got && !memcmp(got, data, n));
		for (int k = 0; k < CHANGES; k++) {
			size_t stop = check_random(&seed) % (n + 1);
			both("damaged", (struct span){exact, len}, n, stop);
			both("cut", (struct span){exact, check_random(&seed) % len}, n, stop);
			both("too short", (struct span){exact, len}, n + 1 + k % 20, stop);
			both("too long", (struct span){exact, len}, n - n / 20, n / 2);
			exact[check_random(&seed) % len] = (uint8_t)check_random(&seed);
		}
		free(exact);
	}
}

/* `literals` literals, a match, and `last` literals. */
static void
one_match(size_t literals, size_t distance, size_t match, size_t last)
{
	uint8_t enc[64], *p = enc;
	*p++ = (uint8_t)(literals << 4 | (match - 4));
	for (size_t i = 0; i < literals; i++)
		*p++ = (uint8_t)(i + 1);
	*p++ = (uint8_t)distance;
	*p++ = 0;
	*p++ = (uint8_t)(last << 4);
	for (size_t i = 0; i < last; i++)
		*p++ = (uint8_t)(i + 100);
	struct span in = {enc, (size_t)(p - enc)};
	size_t n = literals + match + last;
	for (size_t stop = 0; stop <= n; stop++) {
		both("one match", in, n, stop);
		CLEAN(clean_free) uint8_t *got = both_own(in, n, stop, 0xaa);
		bool bad = !distance || distance > literals;
		if (!bad)
			CHECK(got);
		else if (stop > literals || stop == n)
			CHECK(!got);
	}
}

int
main(void)
{
	random_blocks();
	for (size_t literals = 1; literals < 15; literals++)
		for (size_t distance = 0; distance < 16; distance++)
			for (size_t match = 4; match < 19; match += 2)
				for (size_t last = 0; last < 15; last += 2)
					one_match(literals, distance, match, last);
	return check_end();
}
