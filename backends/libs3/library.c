#include "backends/libs3/library.h"

static const char *const s3_names[] = {LIBS3(LAZY_NAME) NULL}, *const xml_names[] = {
								       LIBXML2(LAZY_NAME) NULL};
struct libs3_library libs3_library;
struct libxml2 libxml2;

int
libs3_load(void)
{
	static struct lazy s3 = {.file = "libs3.so.2",
				   .names = s3_names,
				   .pointers = &libs3_library},
			   xml = {.file = "libxml2.so.2", .names = xml_names, .pointers = &libxml2};
	int r = lazy_load(&xml);
	return r < 0 ? r : lazy_load(&s3);
}
