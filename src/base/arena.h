/* Memory for thousands of chunks of a few KiB: slots of one size, cut from arenas of 2 MiB that huge pages back, because clearing and
 * mapping small pages one by one costs more than decoding into them. A size that is rarely used stays with malloc, so that few
 * chunks never hold an arena. Any thread may call. Sanitized builds use arena_plain.c, where every slot is malloc's. */
#pragma once

#include <stddef.h>

enum { ARENA_FROM = 4 << 10, ARENA_TO = 112 << 10 }; /* sizes that come from here, both included */

/* *size is what is needed and becomes what there is, at most ARENA_TO + 1. NULL: out of memory. */
void *arena_get(size_t *size);
/* size: what arena_get said. */
void arena_put(void *p, size_t size);
