#include "backends/s3/libcrypto.h"

LAZY_DEFINE(libcrypto, LIBCRYPTO, "libcrypto.so.3")
