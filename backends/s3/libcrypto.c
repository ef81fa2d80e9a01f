#include "backends/s3/libcrypto.h"

static const char *const names[] = {LIBCRYPTO(LAZY_NAME) NULL};
struct libcrypto libcrypto;

int
libcrypto_load(void)
{
	static struct lazy lazy = {
		.file = "libcrypto.so.3", .names = names, .pointers = &libcrypto};
	return lazy_load(&lazy);
}
