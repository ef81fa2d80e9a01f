#include "base/path.h"

#include <string.h>

char *
path_above(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strndup(path, slash ? (size_t)(slash - path) : 0);
}

const char *
path_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool
path_is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);
	return !len || (strncmp(path, dir, len) == 0 && path[len] == '/');
}
