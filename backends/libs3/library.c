#include "backends/libs3/library.h"

LAZY_DEFINE(libs3_library, LIBS3, "libs3.so.2")
LAZY_DEFINE(libxml2, LIBXML2, "libxml2.so.2")

int
libs3_load(void)
{
	int r = libxml2_load();
	return r < 0 ? r : libs3_library_load();
}
