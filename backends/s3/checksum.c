#include "backends/s3/checksum.h"

#include "backends/s3/libcrypto.h"
#include "base/base64.h"
#include "base/crc.h"
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint64_t
crc32(struct span s)
{
	return crc_32(s.data, s.len);
}

static uint64_t
crc32c(struct span s)
{
	return crc_32c(s.data, s.len);
}

static uint64_t
crc64nvme(struct span s)
{
	return crc_64nvme(s.data, s.len);
}

struct algorithm {
	const char *name;
	unsigned size;                /* bytes of a sum */
	uint64_t (*crc)(struct span); /* NULL: a digest that libcrypto knows by name */
};

static const struct algorithm algorithms[] = {
	{.name = "crc32", .size = 4, .crc = crc32},
	{.name = "crc32c", .size = 4, .crc = crc32c},
	{.name = "crc64nvme", .size = 8, .crc = crc64nvme},
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

static int
sum(const struct algorithm *a, struct span s, uint8_t ret[EVP_MAX_MD_SIZE])
{
	unsigned n = a->size;
	if (a->crc) {
		const uint64_t c = a->crc(s);
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

bool
checksum_is_cheap(const char *told)
{
	const struct algorithm *a = algorithm_of(told);
	return a && a->crc;
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
