/* Changes of metadata that kinds of files are asked for. */
#pragma once

struct mount;
struct node;

/* An array of the store goes, with its chunks, where -o allow_delete says so. -EPERM else; -EBUSY:
 * it is being written. */
int change_remove_array(struct mount *, const struct node *);
/* It gets another name in its group. -EBUSY likewise. */
int change_move_array(struct mount *, const struct node *, const char *name);
