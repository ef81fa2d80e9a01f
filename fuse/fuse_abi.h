/* What the kernel and libfuse say to each other, where libfuse itself does not show or complete
 * it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

/* Completes the answer to the kernel's INIT, as libfuse is about to write it: libfuse 3.14 knows
 * FUSE_CAP_PARALLEL_DIROPS but does not send it, and then the kernel lets one lookup at a time into
 * a directory: one that hangs keeps all others out. */
void fuse_abi_allow_parallel_lookups(const struct iovec *iov, int count);
/* Linux 6.6 and later map files whose read() goes past its pages, if the answer to INIT says that
 * this is known: libfuse 3.14 does not know that flag. Is this request an INIT that offers it? */
bool fuse_abi_offers_direct_mappings(const void *request, ssize_t len);
void fuse_abi_take_direct_mappings(const struct iovec *iov, int count);
/* Before each write() the kernel asks whether the file has capabilities, which a write would take
 * from it, unless the answer to INIT says that writing takes them: no file here has any. Is this
 * request an INIT that offers it? */
bool fuse_abi_offers_no_capabilities(const void *request, ssize_t len);
void fuse_abi_take_no_capabilities(const struct iovec *iov, int count);
/* A request as read, or what read() returned instead: does it ask for or bring anything but many of
 * a file's bytes? */
bool fuse_abi_is_brief(const void *request, ssize_t len);
/* Does the kernel only let go of inodes by it, and wait for no answer? */
bool fuse_abi_forgets(const void *request, ssize_t len);
/* The thread that asks, or 0. */
uint32_t fuse_abi_asker(const void *request, ssize_t len);
