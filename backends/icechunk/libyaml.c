#include "backends/icechunk/libyaml.h"

LAZY_DEFINE(libyaml, LIBYAML, "libyaml-0.so.2")
