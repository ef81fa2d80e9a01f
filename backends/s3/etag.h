/* What an ETag of S3 says of an object's bytes: of one that was put in one piece it is their MD5,
 * unless it is encrypted by keys of a service or of the user's. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

enum { ETAG_SIZE = 35 };

/* As these bytes have it, with its quotation marks. 0 or -EIO. */
int etag_of(struct span, char ret[ETAG_SIZE]);
/* Whether it looks like an MD5: of what was put in several pieces it does not. */
bool etag_is_md5(const char *etag);
