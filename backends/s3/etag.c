#include "backends/s3/etag.h"

#include "backends/s3/libcrypto.h"
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 32 };

int
etag_of(struct span s, char ret[ETAG_SIZE])
{
	uint8_t h[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	int r = libcrypto_load();
	if (r < 0)
		return r;
	if (!EVP_Digest(s.data ? s.data : (const uint8_t *)"", s.len, h, &n, EVP_md5(), NULL) ||
		n != DIGITS / 2)
		return err_set(-EIO, "libcrypto cannot compute MD5");
	for (unsigned i = 0; i < n; i++)
		snprintf(ret + 1 + 2 * i, 3, "%02x", h[i]);
	ret[0] = ret[DIGITS + 1] = '"';
	ret[DIGITS + 2] = 0;
	return 0;
}

bool
etag_is_md5(const char *etag)
{
	return *etag == '"' && strspn(etag + 1, "0123456789abcdefABCDEF") == DIGITS &&
	       !strcmp(etag + 1 + DIGITS, "\"");
}
