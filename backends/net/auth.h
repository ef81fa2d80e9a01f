/* What the mount proves to a web server that it is: a token that was given, or the name and
 * password of ~/.netrc ($NETRC). */
#pragma once

#include "base/url.h"

/* The value of Authorization for this server, NULL: there is none. A token, from that file (or
 * NULL) or $ZARRFS_HTTP_TOKEN, comes first, unless `tokens` is false; it is for https and this
 * machine only. 0, or -errno: a file cannot be read. */
int auth_find(const struct url *, bool tokens, const char *token_file, char **ret);
void auth_free(char *); /* wiped before; NULL is allowed */
