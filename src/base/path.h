/* Paths and keys: names with '/' between them. The root is "". */
#pragma once

#include <stdbool.h>

/* What stands before the last '/'; the root where there is none. malloc'd; NULL: no memory. */
char *path_above(const char *path);
/* The path of what is called name in that directory. malloc'd; NULL: no memory. */
char *path_in(const char *dir, const char *name);
/* What stands behind it: all of a path without one. Within the path. */
const char *path_name(const char *path);
/* Does it lie below that one? Everything lies below the root. */
bool path_is_below(const char *path, const char *dir);
