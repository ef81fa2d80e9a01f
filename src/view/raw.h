/* Keys of the store as they are: `.store/` in the mount's root, and objects that belong to no Zarr
 * hierarchy. */
#pragma once

#include "view/mount.h"

/* The key or prefix behind ".store" or ".store/KEY". 0, ZMAP_ABSENT, -errno. */
int raw_lookup(struct mount *, const char *path, struct entry *ret);
int raw_list(struct mount *, const char *path, mount_dir_fn *fn, void *arg);

/* One key's bytes, of the version that was opened. Any thread. */
struct raw;
int raw_open(struct mount *, const char *key, struct raw **ret); /* ZMAP_ABSENT */
struct raw *raw_close(struct raw *);
uint64_t raw_version(const struct raw *);
const char *raw_tag(const struct raw *); /* what the store calls its version */
uint64_t raw_size(const struct raw *);
int raw_read(struct raw *, const struct array_want *, struct reply *ret);
