/* --create: an empty group where there is nothing yet. Returns the exit status. */
#pragma once

#include "fuse/opts.h"

int create_store(const struct opts *);
