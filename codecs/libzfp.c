#include "codecs/libzfp.h"

static const char *const names[] = {LIBZFP(LAZY_NAME) NULL};
struct libzfp libzfp;

int
libzfp_load(void)
{
	static struct lazy lazy = {.file = SONAME_ZFP, .names = names, .pointers = &libzfp};
	return lazy_load(&lazy);
}
