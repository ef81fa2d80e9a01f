/* Memory for chunks and buffers, used again: what is freed serves the next one, because having the
 * kernel clear new pages costs as much as decoding into them. Pieces of at most 128 KiB come from
 * arenas (base/arena.h), larger ones from the kernel (base/pages.h). What is handed out and what is
 * kept for later stay below one limit together, as far as giving back what is kept can do that. Any
 * thread may call. */
#pragma once

#include <stddef.h>

/* What a piece of n bytes takes: mem_get makes that of its size. */
size_t mem_size(size_t n);
/* *size is what is needed and becomes what there is (>= asked). NULL: out of memory. Not
 * cleared. */
void *mem_get(size_t *size);
/* The same for what may be written in part only: pages come as they are written. */
void *mem_get_bare(size_t *size);
/* mem_size(n) bytes for a thread that holds a lock: no pages are made beforehand, none given
 * back. */
void *mem_get_quickly(size_t size);
/* size: what mem_get said. NULL is allowed. */
void mem_put(void *p, size_t size);
/* The system gets what a piece has behind its first n bytes, if those are many. Returns what there
 * is: its size from now on. */
size_t mem_cut(void *p, size_t size, size_t n);
/* Bytes kept for later. */
size_t mem_idle(void);
/* Pieces that are kept are given back to the system from now on, as soon as they and those handed
 * out are more than so many bytes. */
void mem_limit(size_t bytes);
/* Gives back all that is kept. */
void mem_trim(void);
/* Gives back what malloc keeps between pieces that are used, which takes milliseconds: after much
 * was freed that lay among them. */
void mem_trim_holes(void);

/* Before number i of many things that each take up to 4 KiB in small pieces from malloc. The heap
 * of a thread grows by a page at a time, with a system call and a fault for each: here by many at
 * once. */
void mem_ahead(size_t i);

/* Between the two this thread gives nothing back to the system, which takes long where others wait
 * for a lock that it holds; what is due by then follows. May be nested. */
void mem_hold(void);
void mem_release(void);
