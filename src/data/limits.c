#include "data/limits.h"

#include "base/check.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_LEN = 4096, TEXT = 64 };

/* One line of a cgroup's file. False: there is none. */
static bool
read_line(const char *dir, const char *file, char ret[TEXT])
{
	char path[PATH_LEN + TEXT];
	snprintf(path, sizeof path, "%s/%s", dir, file);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	bool good = fgets(ret, TEXT, f);
	fclose(f);
	return good;
}

/* "max" and -1 are none. */
static size_t
read_limit(const char *dir, const char *file)
{
	char text[TEXT];
	if (!read_line(dir, file, text) || text[0] < '0' || text[0] > '9')
		return SIZE_MAX;
	return strtoull(text, NULL, 10);
}

static size_t
memory_of(const char *dir)
{
	return min_u64(read_limit(dir, "memory.max"), read_limit(dir, "memory.limit_in_bytes"));
}

/* Microseconds of processor time in a period of so many. */
static size_t
processors_of(const char *dir)
{
	char text[TEXT];
	size_t quota = read_limit(dir, "cpu.cfs_quota_us"),
	       period = read_limit(dir, "cpu.cfs_period_us");
	if (read_line(dir, "cpu.max", text) && sscanf(text, "%zu %zu", &quota, &period) != 2)
		return SIZE_MAX;
	if (quota == SIZE_MAX || period == SIZE_MAX || !period)
		return SIZE_MAX;
	return max_u64(ceil_div(quota, period), 1);
}

/* Of a cgroup and its ancestors. */
static size_t
least_of(const char *root, const char *path, size_t (*of)(const char *dir))
{
	char dir[PATH_LEN];
	size_t least = SIZE_MAX;
	snprintf(dir, sizeof dir, "%s%s", root, path);
	while (strlen(dir) >= strlen(root)) {
		least = min_u64(least, of(dir));
		char *slash = strrchr(dir, '/');
		if (!slash || slash == dir)
			break;
		*slash = 0;
	}
	return least;
}

size_t
limits_cgroup_memory(const char *root, const char *path)
{
	return least_of(root, path, memory_of);
}

size_t
limits_cgroup_processors(const char *root, const char *path)
{
	return least_of(root, path, processors_of);
}

/* Of the cgroup that this process is in. controller: its name in v1, and where that is mounted. */
static size_t
own_cgroup(const char *controller, size_t (*of)(const char *dir))
{
	char line[PATH_LEN], root[TEXT];
	size_t least = SIZE_MAX;
	snprintf(root, sizeof root, "/sys/fs/cgroup/%s", controller);
	FILE *f = fopen("/proc/self/cgroup", "re");
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		char *controllers = strchr(line, ':'),
		     *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		if (!strncmp(controllers, "::", 2))
			least = min_u64(least, least_of("/sys/fs/cgroup", path + 1, of));
		else if (strstr(controllers, controller))
			least = min_u64(least, least_of(root, path + 1, of));
	}
	if (f)
		fclose(f);
	return least;
}

static size_t
find_memory(void)
{
	const size_t most = (size_t)4 << 30;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	size_t ram = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : most;
	return min_u64(min_u64(ram, own_cgroup("memory", memory_of)) / 4, most);
}

/* To find it takes some 30 system calls, and each part of a mount asks. */
size_t
limits_memory(void)
{
	static atomic_size_t found; /* 0: not yet */
	size_t memory = atomic_load_explicit(&found, memory_order_relaxed);
	if (!memory) {
		memory = find_memory();
		atomic_store_explicit(&found, memory, memory_order_relaxed);
	}
	return memory;
}

unsigned
limits_processors(void)
{
	cpu_set_t mine;
	long online =
		sysconf(_SC_NPROCESSORS_ONLN); /* of machines with more than a cpu_set_t holds */
	int n = sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 0;
	size_t there = n > 0 ? (size_t)n : online > 0 ? (size_t)online : 1;
	return (unsigned)min_u64(there, own_cgroup("cpu", processors_of));
}
