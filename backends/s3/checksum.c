#include "backends/s3/checksum.h"

#include "backends/s3/libcrypto.h"
#include "base/base64.h"
#include "base/err.h"

#include <errno.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SLICES = 8, BYTES = 256 };

/* The one that libdeflate computes by the processor's own instructions, seven times as fast. */
static const uint64_t CRC32 = 0xedb88320;

struct algorithm {
	const char *name;
	unsigned size; /* bytes of a sum */
	uint64_t
		polynomial; /* of a CRC, its lowest coefficient in the highest bit; 0: a digest that libcrypto knows by name */
};

static const struct algorithm algorithms[] = {
	{.name = "crc32", .size = 4, .polynomial = CRC32},
	{.name = "crc32c", .size = 4, .polynomial = 0x82f63b78},
	{.name = "crc64nvme", .size = 8, .polynomial = 0x9a6c9329ac4bc9b5},
	{.name = "sha1", .size = 20},
	{.name = "sha256", .size = 32},
	{0},
};

static const struct algorithm *
algorithm_of(const char *told)
{
	const size_t n = strcspn(told, "=");
	for (const struct algorithm *a = algorithms; a->name; a++)
		if (told[n] && strlen(a->name) == n && strncmp(a->name, told, n) == 0)
			return a;
	return NULL;
}

bool
checksum_tells(const char *told)
{
	CLEAN(buf_free) struct buf sum = {0};
	const struct algorithm *a = algorithm_of(told);
	const char *text = a ? told + strlen(a->name) + 1 : NULL;
	return a && base64_decode(text, strlen(text), &sum) == 0 && sum.len == a->size;
}

/* --- CRCs, eight bytes at a time --- */

typedef uint64_t slices_of[SLICES][BYTES];

static void
fill(slices_of t, uint64_t polynomial)
{
	for (unsigned i = 0; i < BYTES; i++) {
		uint64_t c = i;
		for (unsigned k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? polynomial : 0);
		t[0][i] = c;
	}
	for (unsigned s = 1; s < SLICES; s++)
		for (unsigned i = 0; i < BYTES; i++)
			t[s][i] = t[s - 1][i] >> 8 ^ t[0][t[s - 1][i] & 0xff];
}

static uint64_t
crc(const struct algorithm *a, struct span s)
{
	slices_of t;
	if (a->polynomial == CRC32)
		return s.len ? libdeflate_crc32(0, s.data, s.len) : 0;
	const uint64_t ones = a->size == 8 ? UINT64_MAX : UINT32_MAX;
	uint64_t c = ones;
	size_t i = 0;
	fill(t, a->polynomial);
	for (; s.len - i >= SLICES; i += SLICES) {
		uint64_t next = 0;
		for (unsigned k = 0; k < SLICES; k++)
			next ^= t[SLICES - 1 - k][(uint8_t)(c >> 8 * k) ^ s.data[i + k]];
		c = next;
	}
	for (; i < s.len; i++)
		c = c >> 8 ^ t[0][(uint8_t)c ^ s.data[i]];
	return c ^ ones;
}

/* --- all of them --- */

static int
sum(const struct algorithm *a, struct span s, uint8_t ret[EVP_MAX_MD_SIZE])
{
	unsigned n = a->size;
	if (a->polynomial) {
		const uint64_t c = crc(a, s);
		for (unsigned i = 0; i < n; i++)
			ret[i] = (uint8_t)(c >> 8 * (n - 1 - i));
		return 0;
	}
	int r = libcrypto_load();
	if (r < 0)
		return r;
	if (!EVP_Digest(s.data ? s.data : (const uint8_t *)"", s.len, ret, &n,
		    EVP_get_digestbyname(a->name), NULL))
		return err_set(-EIO, "libcrypto cannot compute %s", a->name);
	return 0;
}

int
checksum_of(const char *told, struct span s, char ret[CHECKSUM_TEXT])
{
	CLEAN(buf_free) struct buf text = {0};
	uint8_t bytes[EVP_MAX_MD_SIZE];
	const struct algorithm *a = algorithm_of(told);
	int r = a ? sum(a, s, bytes) : err_set(-EINVAL, "no checksum '%s'", told);
	if (r == 0)
		r = base64_encode((struct span){bytes, a->size}, &text);
	if (r == 0)
		r = buf_terminate(&text);
	if (r == 0)
		snprintf(ret, CHECKSUM_TEXT, "%s=%s", a->name, (char *)text.data);
	return r;
}
