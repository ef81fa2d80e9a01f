/* Snappy's raw format (google/snappy, format_description.txt), as parquet pages have it. */
#pragma once

#include "base/buf.h"

/* Exactly len bytes into to. 0, or -EIO: that is not what the bytes hold. */
int kerchunk_snappy(struct span from, uint8_t *to, size_t len);
