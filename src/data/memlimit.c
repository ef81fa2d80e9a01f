#include "data/memlimit.h"

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_LEN = 4096 };

static size_t
read_limit(const char *dir, const char *file)
{
	char path[PATH_LEN + 64], text[64] = "";
	snprintf(path, sizeof path, "%s/%s", dir, file);
	FILE *f = fopen(path, "re");
	if (!f)
		return SIZE_MAX;
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	if (!n || text[0] < '0' || text[0] > '9') /* "max" */
		return SIZE_MAX;
	return strtoull(text, NULL, 10);
}

size_t
memlimit_cgroup(const char *root, const char *path)
{
	char dir[PATH_LEN];
	size_t least = SIZE_MAX;
	snprintf(dir, sizeof dir, "%s%s", root, path);
	while (strlen(dir) >= strlen(root)) {
		least = min_u64(least, read_limit(dir, "memory.max"));
		least = min_u64(least, read_limit(dir, "memory.limit_in_bytes"));
		char *slash = strrchr(dir, '/');
		if (!slash || slash == dir)
			break;
		*slash = 0;
	}
	return least;
}

static size_t
own_cgroup(void)
{
	char line[PATH_LEN];
	size_t least = SIZE_MAX;
	FILE *f = fopen("/proc/self/cgroup", "re");
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		char *controllers = strchr(line, ':'),
		     *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		if (!strncmp(controllers, "::", 2))
			least = min_u64(least, memlimit_cgroup("/sys/fs/cgroup", path + 1));
		else if (strstr(controllers, "memory"))
			least = min_u64(least, memlimit_cgroup("/sys/fs/cgroup/memory", path + 1));
	}
	if (f)
		fclose(f);
	return least;
}

size_t
memlimit_default(void)
{
	const size_t most = (size_t)4 << 30;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	size_t ram = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : most;
	return min_u64(min_u64(ram, own_cgroup()) / 4, most);
}
