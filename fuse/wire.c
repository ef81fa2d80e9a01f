#include "fuse/wire.h"

#include <linux/fuse.h>
#include <stddef.h>

void
wire_allow_parallel_lookups(const struct iovec *iov, int count)
{
	struct fuse_out_header *head = iov[0].iov_base;
	struct fuse_init_out *init = count == 2 ? iov[1].iov_base : NULL;
	size_t needed = offsetof(struct fuse_init_out, flags) + sizeof init->flags;
	if (init && iov[0].iov_len == sizeof *head && !head->error && iov[1].iov_len >= needed)
		init->flags |= FUSE_PARALLEL_DIROPS;
}
