/* Names: paths of the mount ↔ nodes of the model and the views of them. */
#pragma once

#include "view/mount.h"

/* path: not the root. 0, ZMAP_ABSENT, -errno. *ret_view NULL: a directory, or an object with its
 * own bytes. */
int tree_find(
	struct mount *, const char *path, struct node **ret_node, const struct view_ops **ret_view);
int tree_list(struct mount *, const char *path, mount_dir_fn *fn, void *arg);
