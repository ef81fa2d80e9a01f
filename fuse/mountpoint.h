/* The directory that is mounted on: checked before, freed of a dead mount, and let go again; or
 * "/dev/fd/N", a descriptor of /dev/fuse that another program has mounted already and looks
 * after. */
#pragma once

#include "fuse/opts.h"

#include <sys/types.h>

/* A directory that this user can mount on, with its absolute path (caller frees). A dead FUSE mount
 * there is taken away, with a message. */
int mountpoint_prepare(const struct opts *, char **ret);
/* Takes the mount away from the tree at once; it ends when no program uses it any more. Another
 * program's is left to that. */
int mountpoint_detach(const char *path);
/* The kernel answers all that it has asked of a mount with an error, and asks for nothing more.
 * dev: its device, which is needed where the user is not root; 0: not known. */
void mountpoint_abort(const char *path, dev_t dev);
/* N of "/dev/fd/N"; -1: a directory. */
int mountpoint_fd(const char *path);
/* In a process that hands the mount to another one: an open descriptor keeps the mount from
 * ending. */
void mountpoint_let_go(const char *path);
