/* A mount from its store to its end, in the process that called. */
#pragma once

#include "fuse/opts.h"

/* Returns the exit status; failures are logged. ready(arg) is called once the mount can be used. */
int serve(const struct opts *, void (*ready)(void *arg), void *arg);

/* Before a mount is opened: what the options mean to it, as `.zarrfs/config` then tells. */
void serve_options(const struct opts *, struct mount_options *ret);

/* What zarrfs exits with. */
enum { EXIT_STORE = 1, EXIT_USAGE = 2 };
