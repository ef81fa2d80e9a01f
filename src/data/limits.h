/* What of the machine this process may use: as much as the machine has, unless a cgroup says less
 * (a container, a batch job). */
#pragma once

#include <stddef.h>

/* Bytes that caches may take when the user says nothing: a quarter of RAM or of the cgroup's limit,
 * whichever is less, at most 4 GiB. */
size_t limits_memory(void);
/* Processors that threads of this process run on at once: those of its affinity, or the cgroup's
 * share of time, rounded up. At least 1. */
unsigned limits_processors(void);

/* The least limit of the cgroup whose relative path is given and of its ancestors, in cgroup v2 or
 * v1 below root; SIZE_MAX: none. */
size_t limits_cgroup_memory(const char *root, const char *path);
size_t limits_cgroup_processors(const char *root, const char *path);
