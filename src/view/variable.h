/* One array of the store in one version, shared by all open files that show it: the array's numbers, and what its owner must tell it
 * (do the metadata still hold?) and hear from it (a chunk has changed). Counted; any thread. Lives no longer than its mount. */
#pragma once

#include "data/array.h"

struct mount;

struct variable {
	struct mount *mount;
	struct node *node; /* as it was when the array was opened */
	uint64_t version;
	struct array *array;
	atomic_bool rewritten; /* what this variable was is no longer in the store */
	unsigned users;        /* under the table's lock */
	struct variable *next;
};

enum { VARIABLE_SLOTS = 1024 };

struct variable_table {
	pthread_mutex_t lock; /* guards slot, and users and next of all in it */
	struct variable *slot[VARIABLE_SLOTS];
};

/* The variable of an array node; opens its array unless another file has it open. width: of variable-length elements, else 0. */
int variable_get(struct mount *, const struct node *, uint32_t width, struct variable **ret);
struct variable *variable_ref(struct variable *);
struct variable *variable_unref(struct variable *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct variable, variable_unref)

/* 0, or -EIO with the reason once it is known to have been rewritten. */
int variable_usable(const struct variable *);
/* What decides which bytes an array's file has and what they mean. */
uint64_t variable_version(const struct node *, uint32_t width);
/* The same array, grown perhaps: a file that was open before lives on. now NULL: vanished. */
bool variable_lives_on(const struct node *old, const struct node *now);
/* A node was replaced (vanished: now NULL): open variables of its path that do not live on are marked. */
void variables_replaced(struct mount *, const char *path, const struct node *now);
