/* Versions of objects whose server says no ETags: when the object was modified, and its size. The
 * server says whole seconds, so an object may become another one of the same time. As long as it
 * may, it is young, and has a version of its own for each second in which the server says so. */
#pragma once

#include "backends/net/client.h"
#include "store/zmap.h"

bool dated_is_etag(const char *version);
/* chunk: of an array. Other objects are not told to be young: stores inside the store would be
 * read again, and their open files would fail, though they stayed as they are. */
void dated_version(const struct client_reply *, bool chunk, char ret[ZMAP_VERSION]);
/* The same, as far as ETags or times and sizes say. */
bool dated_same(const char *a, const char *b);
/* A time, and not that of a young object: what has it now is the same object. */
bool dated_settled(const char *version);
/* The header by which a settled object is not sent again. 0 or -errno. */
int dated_unless_since(const char *version, struct client_attempt *);
