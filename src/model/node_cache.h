/* The inside of a model: what it knows of each path, and how it looks at one. Only model/ includes
 * this.
 *
 * A cached node is a path that was asked for. At most one thread looks at a cached node at a time
 * (busy); it does so without the lock, holding a struct discovery with all that it needs, and puts
 * the outcome in under the lock. */
#pragma once

#include "base/map.h"
#include "model/consolidated.h"
#include "model/listed.h"

enum how {
	HOW_LOOKUP, /* consolidated metadata will do */
	HOW_CHECK,  /* the node's own objects, not older than the TTL */
	HOW_NOW,    /* the same, now */
	HOW_ALL,    /* the same, attributes surely too */
};

/* What was seen of one metadata object. */
struct seen {
	bool present;
	char *version; /* NULL: the store did not say */
};

struct cached_node {
	struct map_entry by_path;
	struct cached_node *newer, *older; /* by when it was asked for */
	char *path;
	bool busy;
	bool known; /* was looked at; node NULL: there is nothing */
	struct node *node;
	int64_t due;       /* clock_now(): own objects are to be looked at again; 0: at once */
	int64_t begun;     /* clock_now(): the last look at own objects began */
	int64_t wall;      /* clock_wall(): the same; 0: never */
	struct seen *seen; /* META_KINDS of them, or NULL: own objects were never there */
	uint64_t con_id, con_hash; /* the consolidated metadata that node was last compared with,
				      and what they said of it */
	struct consolidated_index *con; /* a group that has its own */
	char **names;                   /* a listing of a remote store, for the TTL */
	size_t nnames;
	int64_t names_begun,
		names_due; /* when the store was asked, and until when the answer is good */
	bool crowded; /* they are more than is asked for to learn that one of them is lacking */
	struct listed *listed; /* a listing above stores, or NULL */
};

struct model {
	struct zmap *zmap;
	struct model_options opt;
	model_changed_fn *changed;
	void *changed_arg;
	pthread_mutex_t lock; /* guards all below and every cached node */
	pthread_cond_t idle;  /* some cached node is no longer busy */
	struct map by_path;
	size_t nabsent;
	struct cached_node *newest, *oldest;
	size_t bytes;     /* of all that is known, roughly */
	size_t con_bytes; /* of those, consolidated metadata */
	size_t dropped;   /* bytes of what was let go of, so far */
	uint64_t last_con;
	uint64_t serial;    /* the highest of a node so far */
	uint64_t renamed;   /* times that a commit changed which names a group has */
	int64_t renamed_at; /* clock_now() of the last one: a listing begun before it may lack a
			       name */
	uint32_t seed;      /* of the jitter */
	/* what commits of this model left, the latest ones */
	struct own_change {
		uint64_t path;              /* a hash */
		uint64_t rows;              /* of an array: its leading extent */
		char version[ZMAP_VERSION]; /* "": nothing */
	} own[128];
	unsigned nown;    /* so far */
	bool committing;  /* an edit stores metadata; idle says when no longer */
	unsigned commits; /* edits that have stored metadata, or tried to */
};

enum { DEPTH_MAX = 128, PATH_BYTES_MAX = 4000 };

/* What stands above a path, from the root down. Owned by one call. */
struct path_walk {
	int64_t deadline; /* clock_now(): of the whole operation */
	struct node *up[DEPTH_MAX];
	unsigned depth;
	bool in_zarr; /* the path lies in a Zarr hierarchy, whose top is up[top] */
	unsigned top;
	struct consolidated_index *con; /* of the nearest group that has some; a reference */
	size_t con_skip;                /* bytes of the path before what con calls it */
	bool con_beside_objects;        /* that group has an object of its own: the store is not of
					   consolidated metadata only */
};

void path_walk_done(struct path_walk *);
struct dim_scope path_walk_scope(const struct path_walk *, const struct model *);
/* Consolidated metadata know the node that the walk ends with. */
bool path_walk_covers(const struct path_walk *);

/* One look at one cached node. */
struct discovery {
	struct model *model;
	const char *path;
	const struct path_walk *walk;
	enum how how;
	bool covered;   /* consolidated metadata know it */
	int64_t begun;  /* clock_now(): when it was asked for, then when it began … */
	int64_t wall;   /* … by clock_wall() */
	int64_t before; /* clock_now(): the look before this one began; 0: there was none */
	/* what was known; the cached node's, which is busy */
	struct node *old;
	const struct seen *seen;
	struct consolidated_index *old_con;
	uint64_t old_con_id, old_con_hash;
	/* the outcome, with references */
	struct node *node;     /* NULL: absent. May be `old` */
	struct seen *new_seen; /* NULL: as before */
	struct consolidated_index *con;
	uint64_t con_id, con_hash; /* 0: consolidated metadata know nothing of it */
	bool own;                  /* the node's own objects were seen */
	bool partly;               /* only the .zarray: attributes are as old as before */
	char **names; /* sorted: what a listing of all of the path had as prefixes; NULL: none was
			 needed */
	size_t nnames;
	int64_t names_begun; /* clock_now(): when the store was asked */
};

/* 0, ZMAP_ABSENT or -errno; fills the outcome. */
int discover(struct discovery *);
void seen_free(struct seen *);
/* One of these kinds (bits of meta_kind) was there. NULL: nothing was. */
bool seen_any(const struct seen *, unsigned kinds);
void discovery_drop_names(struct discovery *);

/* fetch.c */
struct fetch {
	unsigned want;                 /* bits of meta_kind */
	const struct seen *if_changed; /* versions that need not come again, or NULL */
	/* outcome of each that was wanted: 0, ZMAP_SAME, ZMAP_ABSENT, -errno */
	int result[META_KINDS];
	struct metas metas;
};
/* Asks for all that is wanted, at once where the store is remote. Fails only when nothing can be
 * said at all. */
void fetch(const struct discovery *, struct fetch *);
/* The same in two parts, while something else is asked for between them. NULL: nothing can be asked
 * for, and the results say why. */
struct fetching *fetch_begin(const struct discovery *, struct fetch *);
void fetch_end(const struct discovery *, struct fetch *, struct fetching *);
/* Instead of fetch_end, where the outcome is not wanted any more. */
void fetch_drop(struct fetching *);
/* Something lies below path. 1, 0, or -errno. */
int fetch_below(const struct discovery *);
/* The store's root is still what it was. 0, or -EIO with the reason. */
int fetch_alive(struct model *);

/* node_get.c */
/* The node at a path, everything above it looked at. walk (zeroed; may be NULL) is left as it
 * stands for the node's children. */
int node_cache_get(
	struct model *, const char *path, enum how, struct path_walk *, struct node **ret);
/* node_look.c: the same for a child of the node that the walk ends with, at its full path. */
int node_cache_get_child(
	struct model *, const char *path, enum how, const struct path_walk *, struct node **ret);
/* siblings.c: node_cache_get_child of a remote store, above stores, by HOW_LOOKUP; entries that
 * will be asked for next are looked at too. */
int siblings_get(struct model *, const char *path, const struct path_walk *, struct node **ret);
/* node_cache.c: it was asked for, and is the last to go. Lock held. */
void node_cache_renew(struct model *, struct cached_node *);
/* A path that is not known. 0 or -ENOMEM. Lock held. */
int node_cache_add(struct model *, const char *path, struct cached_node **ret);
/* What is known of a cached node changes between these two. Lock held. */
void node_cache_count_out(struct model *, const struct cached_node *);
void node_cache_count_in(struct model *, const struct cached_node *);
/* room.c: lets go of cached nodes that were not asked for lately, until the rest has room. Lock
 * held. */
void node_cache_make_room(struct model *);
struct cached_node *node_cache_find(const struct model *, const char *path); /* lock held */
void node_cache_forget(struct model *, struct cached_node *); /* lock held; not busy */
/* Takes the names over; lock held. */
void node_cache_put_names(
	struct model *, struct cached_node *, char **names, size_t n, int64_t begun);
/* A thread that watches (model_watch) was told something that holds until then. */
void node_cache_told(int64_t due);
void node_cache_put_listed(struct model *, struct cached_node *, struct listed *); /* likewise */
/* Was the path listed as an object and nothing else? ret_begun: when the store was asked, if it
 * said what ret has then; else 0. */
bool node_cache_is_key(struct model *, const char *path, struct zmap_stat *ret, int64_t *ret_begun);
