/* Arenas where the address sanitizer watches: each piece is malloc's, so that it sees what is
 * written beside one, and memory that is no piece, which an arena would take for one. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

/* Before each piece. */
struct arena_head {
	size_t bytes, pad;
};

size_t
arena_size(size_t n)
{
	return n ? n : 1;
}

void *
arena_get(size_t n, bool filled)
{
	struct arena_head *h = malloc(sizeof *h + arena_size(n));
	if (!h)
		return NULL;
	h->bytes = arena_size(n);
	return h + 1;
}

void
arena_put(void *p, size_t n)
{
	struct arena_head *h = (struct arena_head *)p - 1;
	if (h->bytes != arena_size(n)) {
		fprintf(stderr, "arena: %zu bytes are given back of a piece of %zu\n", n, h->bytes);
		abort();
	}
	free(h);
}

size_t
arena_idle(void)
{
	return 0;
}

bool
arena_trim(void)
{
	return false;
}
