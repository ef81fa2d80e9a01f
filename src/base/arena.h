/* Pieces of memory of at most 128 KiB, cut from arenas of 2 MiB by size. The pages of an arena are
 * made by one call where there is room for them, and any thread's piece serves the next one of its
 * size: malloc grows by as much as is asked for, has the kernel make each page by a fault, and
 * keeps those below a piece that is in use. Any thread may call. Under the address sanitizer malloc
 * does it (arena_checked.c). */
#pragma once

#include "base/pages.h"

#include <stdbool.h>
#include <stddef.h>

enum { ARENA_TO = 128 << 10, ARENA_BYTES = PAGES_BLOCK };

/* What a piece of n bytes takes: at most a sixteenth more, or 64 bytes. */
size_t arena_size(size_t n);
/* A piece of arena_size(n) bytes, not cleared. filled: pages of a new arena may be made beforehand.
 * NULL: no memory. */
void *arena_get(size_t n, bool filled);
/* n: as it was asked for, or arena_size of that. */
void arena_put(void *p, size_t n);
/* Bytes of pages that are there for no piece. */
size_t arena_idle(void);
/* Gives such pages back to the system: an arena, or a stretch of one. false: there are none. */
bool arena_trim(void);
