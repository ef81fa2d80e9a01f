#include "backends/zip/libzip.h"

LAZY_DEFINE(libzip, LIBZIP, SONAME_ZIP)
