/* A mount from inside: what its parts share. Only src/view includes this; everybody else view/mount.h. */
#pragma once

#include "base/url.h"
#include "view/cdl.h"
#include "view/facts.h"
#include "view/mount.h"
#include "view/notes.h"
#include "view/roles.h"
#include "view/stale.h"
#include "view/variable.h"

struct file;

struct open_files {
	pthread_mutex_t lock; /* guards first, and the links of all in it */
	struct file *first;
};

struct mount {
	struct mount_options options;
	struct url url;
	struct zmap *zmap;
	struct model *model;
	struct data *data;
	char *single; /* name of the one variable where the store is a single array */
	atomic_bool root_is_array;
	int64_t pages_ttl;   /* ns that the kernel may go on using pages it has read */
	atomic_llong tended; /* when_now() of the last look at the models' memory */
	struct variable_table variables;
	struct facts facts;
	struct notes notes;
	struct roles_table roles;
	struct cdl_texts cdl;
	struct open_files files;
	atomic_ullong changes;         /* nodes that were replaced so far */
	_Atomic(struct stale *) stale; /* NULL: nobody wants to know */
	pthread_mutex_t lock;          /* guards the rest */
	struct node *
		root; /* as last seen: the way to .zarrfs stays open when the store does not answer */
	mount_stats_fn *stats;
	void *stats_arg;
};

/* What of a file or directory is not a node's. */
enum special {
	SPECIAL_NONE,
	SPECIAL_STORE, /* .store and below: path tells the key */
	SPECIAL_ROOT,  /* .zarrfs */
	SPECIAL_STATS,
	SPECIAL_CONFIG,
	SPECIAL_LOG,
	SPECIAL_REFRESH,
};

/* The path in the mount of a node's flat file or directory. */
const char *mount_path(struct mount *, const char *node_path);
/* Whoever asked by mount_on_stale will be told of the node's file. */
void mount_stale(struct mount *, const char *node_path, enum stale_what);
/* The same for the files that other views make of it, as far as they are open. */
void files_stale(struct mount *, const char *node_path, enum stale_what);
/* Codes that a read-only file system gives: what else goes wrong is EIO to the user. Outcomes pass. */
int mount_error(int code);
uint64_t mount_ino(const char *path);
/* The entry of a file or directory that is not made by a view. mode: permission bits. */
int mount_entry(struct mount *, const char *path, enum entry_kind, mode_t mode, struct entry *ret);
