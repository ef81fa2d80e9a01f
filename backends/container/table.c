/* The kinds of containers that there are. */
#include "backends/container/container.h"
#include "backends/kerchunk/kerchunk.h"

extern const struct container_ops container_icechunk;

const struct container_ops *const container_table[] = {
	&container_icechunk,
	&container_kerchunk_lazy,
	NULL,
};
