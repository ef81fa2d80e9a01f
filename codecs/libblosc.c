#include "codecs/libblosc.h"

LAZY_DEFINE(libblosc, LIBBLOSC, SONAME_BLOSC)
