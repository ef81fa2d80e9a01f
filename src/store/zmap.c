#include "store/zmap.h"
