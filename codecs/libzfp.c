#include "codecs/libzfp.h"

LAZY_DEFINE(libzfp, LIBZFP, SONAME_ZFP)
