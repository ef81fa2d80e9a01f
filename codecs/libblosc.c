#include "codecs/libblosc.h"

static const char *const names[] = {LIBBLOSC(LAZY_NAME) NULL};
struct libblosc libblosc;

int
libblosc_load(void)
{
	static struct lazy lazy = {.file = SONAME_BLOSC, .names = names, .pointers = &libblosc};
	return lazy_load(&lazy);
}
