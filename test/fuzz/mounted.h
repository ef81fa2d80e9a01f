/* A mount of the store that a fuzzer's input says, and each file of it looked at. */
#pragma once

#include "store.h"

#include "base/clock.h"
#include "view/mount.h"

#include <stdio.h>

/* name: of the store in memory. look: a path of the mount. */
static inline void
fuzz_files(char *name, const struct fuzz_key *key, size_t keys, struct span input,
	const char *const *path, void (*look)(struct mount *, const char *path))
{
	const struct mount_options o = {
		.model = {.ttl = INT64_MAX, .timeout = SECOND},
		.data = {.memory = 32 << 20, .workers = 1, .ttl = INT64_MAX, .timeout = SECOND},
		.zmap = {.timeout = SECOND},
		.strlen = 16,
	};
	struct zmap *z = fuzz_store(name, key, keys, input.data, input.len);
	struct mount *m = NULL;
	char url[64];
	snprintf(url, sizeof url, "mem:%s", name);
	if (mount_open(url, &o, &m) == 0)
		for (; *path; path++)
			look(m, *path);
	mount_close(m);
	zmap_close(z);
}
