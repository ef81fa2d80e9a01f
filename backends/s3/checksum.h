/* Checksums that S3 keeps with an object and tells where x-amz-checksum-mode asks for them: of the
 * bytes as they are, however they were put or are encrypted. Any thread may call. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

enum { CHECKSUM_TEXT = 80 };

/* Does what a header told, "crc32c=y/U4ag==" (client_reply.checksum), say anything of all bytes
 * together? Not where it is of another algorithm, or a checksum of checksums ("…-3"). */
bool checksum_tells(const char *told);
/* Is that of an algorithm that takes some 10 GB a second, a CRC? */
bool checksum_is_cheap(const char *told);
/* The bytes' own of the same kind, in the same form. 0 or -errno. */
int checksum_of(const char *told, struct span, char ret[CHECKSUM_TEXT]);
