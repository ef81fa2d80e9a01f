/* One array of the store in one version, shared by all open files that show it: the array's
 * numbers, and what its owner must tell it (do the metadata still hold?) and hear from it (a chunk
 * has changed). Counted; any thread. Lives no longer than its mount. */
#pragma once

#include "base/map.h"
#include "data/array.h"

struct mount;

struct variable {
	struct mount *mount;
	struct node *node; /* as it was when the array was opened */
	uint64_t version;
	uint32_t width;                /* of variable-length elements, else 0 */
	_Atomic(struct array *) array; /* NULL: it was not needed yet; stays once it is there */
	atomic_bool rewritten;         /* what this variable was is no longer in the store */
	unsigned users;                /* under the table's lock */
	struct map_entry by_path;
	bool listed; /* in the table */
};

enum { VARIABLE_KINDS = 64 };

struct variable_table {
	pthread_mutex_t lock; /* guards the map, and users of all in it */
	struct map by_path;
	size_t opened; /* arrays of all in it */
	atomic_ullong
		opens[VARIABLE_KINDS]; /* versions whose arrays were opened lately; any thread */
};

/* The variable of an array node; opens its array unless another file has it open. width: of
 * variable-length elements, else 0. */
int variable_get(struct mount *, const struct node *, uint32_t width, struct variable **ret);
/* The same, but its array is opened by the first read that needs it: files of very many variables
 * are looked at for a few. That it can be opened is known. */
int variable_get_closed(struct mount *, const struct node *, uint32_t width, struct variable **ret);
/* Its array, borrowed. */
int variable_array(struct variable *, struct array **ret);
/* With its array open, and so many rows along its leading dimension that the metadata do not know
 * of yet: chunks of it that readers of the node's variable know too are the same. Another one at
 * each call. */
int variable_grown(
	struct mount *, const struct node *, uint64_t rows, uint32_t width, struct variable **ret);
struct variable *variable_ref(struct variable *);
struct variable *variable_unref(struct variable *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct variable, variable_unref)

/* Memory that open arrays take, roughly. */
size_t variables_bytes(struct mount *);
/* 0, or -EIO with the reason once it is known to have been rewritten. */
int variable_usable(const struct variable *);
/* What it says then of a path. Returns -EIO. */
int variable_say_rewritten(const char *path);
/* What decides which bytes an array's file has and what they mean. */
uint64_t variable_version(const struct node *, uint32_t width);
/* The same of a file that may grow without becoming another: with another length of the leading
 * dimension than the node's. */
uint64_t variable_version_with(const struct node *, uint32_t width, uint64_t rows);
/* The same array, grown perhaps: a file that was open before lives on. Also where `now` was seen
 * before `old`. now NULL: vanished. */
bool variable_lives_on(const struct node *old, const struct node *now);
/* A node was replaced (vanished: now NULL): open variables of its path that do not live on are
 * marked. */
void variables_replaced(struct mount *, const char *path, const struct node *now);
