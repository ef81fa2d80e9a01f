#include "backends/net/libcurl.h"

static const char *const names[] = {LIBCURL(LAZY_NAME) NULL};
struct libcurl libcurl;

int
libcurl_load(void)
{
	static struct lazy lazy = {.file = "libcurl.so.4", .names = names, .pointers = &libcurl};
	return lazy_load(&lazy);
}
