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

bool
wire_is_brief(const void *request, ssize_t len)
{
	const struct fuse_in_header *head = request;
	return len >= (ssize_t)sizeof *head && head->opcode != FUSE_READ;
}
