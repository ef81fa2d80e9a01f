#include "base/path.h"

#include <stdlib.h>
#include <string.h>

char *
path_above(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strndup(path, slash ? (size_t)(slash - path) : 0);
}

char *
path_in(const char *dir, const char *name)
{
	const size_t above = strlen(dir), own = strlen(name) + 1;
	char *path = malloc(above + 1 + own);
	if (!path)
		return NULL;
	memcpy(path, dir, above);
	path[above] = '/';
	memcpy(path + above + (above != 0), name, own);
	return path;
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
