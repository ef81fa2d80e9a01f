/* The answer to the kernel's INIT, completed. libfuse 3.14 knows FUSE_CAP_PARALLEL_DIROPS but does not send it, and then
 * the kernel lets one lookup at a time into a directory: one that hangs keeps everybody out. */
#pragma once

#include <stdbool.h>
#include <sys/uio.h>

/* iov: an INIT reply as libfuse is about to write it. */
void wire_allow_parallel_lookups(const struct iovec *iov, int count);
