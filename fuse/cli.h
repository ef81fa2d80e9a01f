/* --ls and --cat: the names and bytes of a mount, without one. Both return the exit status. */
#pragma once

#include "fuse/opts.h"

int cli_ls(const struct opts *);
int cli_cat(const struct opts *);
