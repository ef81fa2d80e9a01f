#include "backends/icechunk/libyaml.h"

static const char *const names[] = {LIBYAML(LAZY_NAME) NULL};
struct libyaml libyaml;

int
libyaml_load(void)
{
	static struct lazy lazy = {.file = "libyaml-0.so.2", .names = names, .pointers = &libyaml};
	return lazy_load(&lazy);
}
