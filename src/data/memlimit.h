/* How much memory caches may take when the user says nothing: a quarter of RAM or of the cgroup's limit, whichever
 * is less, at most 4 GiB. */
#pragma once

#include <stddef.h>

size_t memlimit_default(void);
/* The least limit of the cgroup whose relative path is given and of its ancestors (cgroup v2 below root); SIZE_MAX: none. */
size_t memlimit_cgroup(const char *root, const char *path);
