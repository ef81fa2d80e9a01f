/* A mount from inside: what its parts share. Only src/view includes this; other parts include
 * view/mount.h. */
#pragma once

#include "base/url.h"
#include "view/text/cdl.h"
#include "view/facts.h"
#include "view/growth.h"
#include "view/layouts.h"
#include "view/mount.h"
#include "view/notes.h"
#include "view/picture/pictures.h"
#include "view/roles.h"
#include "view/stale.h"
#include "view/variable.h"

struct file;
struct file_kind;

struct open_files {
	pthread_mutex_t lock; /* guards first, and the links of all in it */
	struct file *first;
};

struct mount {
	struct mount_options options;
	const struct view_ops *const *views;  /* NULL last; the flat file first */
	const struct file_kind *const *kinds; /* NULL last; of a writable mount */
	struct url url;
	struct zmap *zmap;
	struct model *model;
	struct data *data;
	char *single; /* name of the one variable where the store is a single array */
	atomic_bool root_is_array;
	int64_t pages_ttl;     /* ns that the kernel may go on using pages it has read */
	atomic_llong tended;   /* clock_now() of the last look at the models' memory */
	atomic_size_t trimmed; /* model_dropped() when memory was last given back for that */
	struct variable_table variables;
	struct facts facts;
	struct growth growth;
	struct notes notes;
	struct roles_table roles;
	struct cdl_texts cdl;
	struct layouts layouts;
	struct pictures pictures;
	struct open_files files;
	/* The kinds' own, of a writable mount; else NULL. */
	struct flats *flats;
	struct images *images;
	struct scratches *scratches;
	atomic_uint
		waiting; /* kinds and files of them that want to hear of reads, see other_read */
	atomic_ullong changes;         /* nodes that were replaced so far */
	_Atomic(struct stale *) stale; /* NULL: no callback is set */
	pthread_mutex_t lock;          /* guards the rest */
	struct node *root; /* as last seen: the way to .zarrfs stays open when the store does not
			      answer */
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
	SPECIAL_HISTORY,
	SPECIAL_LOG,
	SPECIAL_REFRESH,
};

/* The path in the mount of a node's flat file or directory. */
const char *mount_path(struct mount *, const char *node_path);
/* A file is open: files_stale finds it until it is removed. */
void files_add(struct file *);
void files_remove(struct file *);
/* The callback of mount_on_stale will be told of the node's file. */
void mount_stale(struct mount *, const char *node_path, enum stale_what);
/* The same for the open files that show its elements, but for the one of the path `except` (or
 * NULL). */
void files_stale(struct mount *, const char *node_path, const char *except, enum stale_what);
/* The same for the files that views may make of it and of its group, open or not, but for its flat
 * file. */
void views_stale(struct mount *, const char *node_path, const char *except, enum stale_what);
/* Tells the caches what models, layouts and pictures take of the memory by now. */
void mount_count_memory(struct mount *);
/* Codes that a read-only file system gives: what else goes wrong is EIO to the user. Outcomes
 * pass. */
int mount_error(int code);
/* The same of what writes: a full disk, too. */
int mount_write_error(int code);
uint64_t mount_ino(const char *path);
/* Before the store is opened: what the options say, and what follows from them for the parts of a
 * mount. */
void mount_set_options(struct mount *, const struct mount_options *);
/* Bytes of a listing: one that a hostile server never ends takes no more than a part of the
 * memory. */
size_t mount_list_max(const struct mount *);
/* The entry of a file or directory that is not made by a view. mode: permission bits. */
int mount_entry(struct mount *, const char *path, enum entry_kind, mode_t mode, struct entry *ret);
