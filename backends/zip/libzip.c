#include "backends/zip/libzip.h"

static const char *const names[] = {LIBZIP(LAZY_NAME) NULL};
struct libzip libzip;

int
libzip_load(void)
{
	static struct lazy lazy = {.file = SONAME_ZIP, .names = names, .pointers = &libzip};
	return lazy_load(&lazy);
}
