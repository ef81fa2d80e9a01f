#include "fuse/fuse_abi.h"

#include <linux/fuse.h>
#include <stddef.h>

/* FUSE_DIRECT_IO_ALLOW_MMAP of linux/fuse.h 7.39, which Debian 12's headers lack: bit 36 of the
 * flags, in the second word. */
enum { DIRECT_MAPPINGS = 1 << 4 };

/* Bytes that are copied sooner than a thread that sleeps is woken; libnetcdf reads 8 KiB at a
 * time. */
enum { BRIEF = 16 << 10 };

/* The answer to INIT, if it is one and has its first `needed` bytes. */
static struct fuse_init_out *
init_answer(const struct iovec *iov, int count, size_t needed)
{
	const struct fuse_out_header *head = iov[0].iov_base;
	return count == 2 && iov[0].iov_len == sizeof *head && !head->error &&
			       iov[1].iov_len >= needed
		       ? iov[1].iov_base
		       : NULL;
}

void
fuse_abi_allow_parallel_lookups(const struct iovec *iov, int count)
{
	size_t needed = offsetof(struct fuse_init_out, flags) + sizeof(uint32_t);
	struct fuse_init_out *init = init_answer(iov, count, needed);
	if (init)
		init->flags |= FUSE_PARALLEL_DIROPS;
}

/* The INIT, if it is one; else NULL. */
static const struct fuse_init_in *
init_request(const void *request, ssize_t len)
{
	const struct fuse_in_header *head = request;
	bool whole = len >= (ssize_t)(sizeof *head + offsetof(struct fuse_init_in, unused));
	return whole && head->opcode == FUSE_INIT ? (const void *)(head + 1) : NULL;
}

bool
fuse_abi_offers_direct_mappings(const void *request, ssize_t len)
{
	const struct fuse_init_in *init = init_request(request, len);
	return init && init->flags & FUSE_INIT_EXT && init->flags2 & DIRECT_MAPPINGS;
}

bool
fuse_abi_offers_no_capabilities(const void *request, ssize_t len)
{
	const struct fuse_init_in *init = init_request(request, len);
	return init && init->flags & FUSE_HANDLE_KILLPRIV_V2;
}

void
fuse_abi_take_no_capabilities(const struct iovec *iov, int count)
{
	size_t needed = offsetof(struct fuse_init_out, flags) + sizeof(uint32_t);
	struct fuse_init_out *init = init_answer(iov, count, needed);
	if (init)
		init->flags |= FUSE_HANDLE_KILLPRIV_V2;
}

void
fuse_abi_take_direct_mappings(const struct iovec *iov, int count)
{
	size_t needed = offsetof(struct fuse_init_out, flags2) + sizeof(uint32_t);
	struct fuse_init_out *init = init_answer(iov, count, needed);
	if (!init)
		return;
	init->flags |= FUSE_INIT_EXT;
	init->flags2 |= DIRECT_MAPPINGS;
}

uint32_t
fuse_abi_asker(const void *request, ssize_t len)
{
	const struct fuse_in_header *head = request;
	return len >= (ssize_t)sizeof *head ? head->pid : 0;
}

bool
fuse_abi_is_brief(const void *request, ssize_t len)
{
	const struct fuse_in_header *head = request;
	const struct fuse_read_in *in = (const void *)(head + 1);
	if (len >= (ssize_t)sizeof *head && head->opcode == FUSE_WRITE)
		return len <= BRIEF;
	if (len >= (ssize_t)sizeof *head && head->opcode != FUSE_READ)
		return true;
	return len >= (ssize_t)(sizeof *head + offsetof(struct fuse_read_in, read_flags)) &&
	       in->size <= BRIEF;
}

bool
fuse_abi_forgets(const void *request, ssize_t len)
{
	const struct fuse_in_header *head = request;
	return len >= (ssize_t)sizeof *head &&
	       (head->opcode == FUSE_FORGET || head->opcode == FUSE_BATCH_FORGET);
}
