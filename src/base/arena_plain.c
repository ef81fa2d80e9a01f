#include "base/arena.h"

#include <stdlib.h>

void *
arena_get(size_t *size)
{
	return malloc(*size);
}

void
arena_put(void *p, size_t size)
{
	free(p);
}
