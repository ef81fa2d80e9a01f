/* Small files of the user's. */
#pragma once

#include "base/buf.h"

enum userfile_outcome { USERFILE_NONE = 1 };

/* The bytes of a file of at most 1 MiB, in memory that never moved while it was filled (so
 * secret_buf_free wipes all of it). 0, USERFILE_NONE: there is none, or -errno with the file's
 * name. */
int userfile_read(const char *path, struct buf *ret);
/* "HOME/name" with HOME from `variable`, else $HOME, else the user database. NULL: no memory.
 * Caller frees. */
char *userfile_at_home(const char *variable, const char *name);
