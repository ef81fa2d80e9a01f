/* The mount in a process of its own, and how its beginning reaches the process that started it. */
#pragma once

#include "fuse/opts.h"

/* Mounts in the background: returns the exit status once the mount can be used, or cannot be made.
 * What failed is said on the terminal; from then on messages go to the system log. */
int daemon_mount(const struct opts *);

/* Mounts in a child that ends with this process, or by SIGTERM; messages stay on stderr. 0 once the
 * mount can be used, else an exit status. */
int daemon_beside(const struct opts *, pid_t *ret);
