/* Base64 (RFC 4648 §4) as metadata use it. */
#pragma once

#include "base/buf.h"

/* Adds the bytes that text stands for; blanks in it are skipped, padding may not be missing. 0;
 * -EINVAL: it is not base64, and ret is as it was; -ENOMEM. */
int base64_decode(const char *text, size_t len, struct buf *ret);
/* Adds the text, padded. 0 or -ENOMEM. */
int base64_encode(struct span bytes, struct buf *ret);
