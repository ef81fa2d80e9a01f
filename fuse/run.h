/* zarrfs STORE MOUNTPOINT -- COMMAND: a mount for as long as a command runs. */
#pragma once

#include "fuse/opts.h"

/* The command's exit status; 128 + n if signal n ended it, 126 or 127 if it could not be
 * started. */
int run(const struct opts *);
