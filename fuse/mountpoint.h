/* The directory that is mounted on: checked before, freed of a dead mount, and let go again. */
#pragma once

#include "fuse/opts.h"

/* A directory that this user can mount on, with its absolute path (caller frees). A dead FUSE mount there is taken
 * away, with a message. */
int mountpoint_prepare(const struct opts *, char **ret);
/* Takes the mount away from the tree at once; it ends when nobody uses it any more. */
int mountpoint_detach(const char *path);
