/* ~/.netrc, as curl and ftp read it: "machine HOST login NAME password WORD", "default", macros
 * passed over. */
#pragma once

#include "base/buf.h"

/* "NAME:WORD" for the first entry of this host (no port; any case), or of "default", appended. 0;
 * ZMAP_ABSENT: there is none; -errno. */
int netrc_find(struct span text, const char *host, struct buf *ret);
