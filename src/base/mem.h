/* Large pieces of memory that are used again: the pages of a freed chunk serve the next one, because
 * having the kernel clear new pages costs as much as decoding into them. Not huge pages: where a machine is itself a guest
 * they came three times as dear (the host backs them anew each time) as often as they came cheaper. Any thread may call.
 * What is kept unused is counted in mem_idle and given back by mem_trim; the one memory budget takes both into account. */
#pragma once

#include <stddef.h>

/* *size is what is needed and becomes what there is (>= asked). NULL: out of memory. Not cleared. */
void *mem_get(size_t *size);
/* size: what mem_get said. NULL is allowed. */
void mem_put(void *p, size_t size);
/* Bytes kept for later. */
size_t mem_idle(void);
/* Gives unused pieces back to the system until at most `keep` bytes of large ones are kept here, and about `holes` of small ones by
 * malloc, which takes a millisecond. */
void mem_trim(size_t keep, size_t holes);
