/* `.zarrfs/` in the mount's root: files whose text is made when they are opened. */
#pragma once

#include "view/mount.h"

/* path: ".zarrfs" or below it. 0, ZMAP_ABSENT, -errno. */
int special_lookup(struct mount *, const char *path, struct entry *ret);
int special_list(struct mount *, const char *path, mount_dir_fn *fn, void *arg);
/* What the file (enum special) says now; appended. */
int special_text(struct mount *, int special, struct buf *ret);
