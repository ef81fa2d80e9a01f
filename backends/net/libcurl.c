#include "backends/net/libcurl.h"

LAZY_DEFINE(libcurl, LIBCURL, "libcurl.so.4")
