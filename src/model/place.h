/* The inside of a model: what it knows of each path, and how it looks at one. Only model/ includes this.
 *
 * A place is a path somebody asked for. At most one thread looks at a place at a time (busy); it does so
 * without the lock, holding a struct look with all that it needs, and puts the outcome in under the lock. */
#pragma once

#include "model/catalog.h"
#include "model/listed.h"

enum how {
	HOW_LOOKUP, /* consolidated metadata will do */
	HOW_CHECK,  /* the node's own objects, not older than the TTL */
	HOW_NOW,    /* the same, now */
};

/* What was seen of one metadata object. */
struct seen {
	bool present;
	char *version; /* NULL: the store did not say */
};

struct place {
	struct place *next; /* in its bucket */
	char *path;
	bool busy;
	bool known; /* was looked at; node NULL: there is nothing */
	struct node *node;
	int64_t due;       /* when_now(): own objects are to be looked at again; 0: at once */
	int64_t begun;     /* when_now(): the last look at own objects began */
	int64_t wall;      /* when_wall(): the same; 0: never */
	struct seen *seen; /* META_KINDS of them, or NULL: own objects were never there */
	uint64_t con_id,
		con_hash; /* the consolidated metadata that node was last compared with, and what they said of it */
	struct catalog *con; /* a group that has its own */
	char **names;        /* a listing of a remote store, for the TTL */
	size_t nnames;
	int64_t names_due;
	struct listed *listed; /* a listing above stores, or NULL */
};

struct model {
	struct zmap *zmap;
	struct model_options opt;
	model_changed_fn *changed;
	void *changed_arg;
	pthread_mutex_t lock; /* guards all below and every place */
	pthread_cond_t idle;  /* some place is no longer busy */
	struct place **bucket;
	size_t nbuckets, nplaces, nabsent;
	size_t bytes; /* of nodes, roughly */
	uint64_t last_con;
	uint32_t seed; /* of the jitter */
};

enum { DEPTH_MAX = 128, PATH_BYTES_MAX = 4000 };

/* What stands above a path, from the root down. Owned by one call. */
struct walk {
	int64_t deadline; /* when_now(): of the whole operation */
	struct node *up[DEPTH_MAX];
	unsigned depth;
	bool in_zarr; /* the path lies in a Zarr hierarchy, whose top is up[top] */
	unsigned top;
	struct catalog *con; /* of the nearest group that has some; a reference */
	size_t con_skip;     /* bytes of the path before what con calls it */
	bool con_beside_objects; /* that group has a .zgroup of its own: the store is not of consolidated metadata only */
};

void walk_done(struct walk *);
struct scope walk_scope(const struct walk *, const struct model *);
/* Consolidated metadata know the node that the walk ends with. */
bool walk_covers(const struct walk *);

/* One look at one place. */
struct look {
	struct model *model;
	const char *path;
	const struct walk *walk;
	enum how how;
	int64_t begun;  /* when_now(): when it was asked for, then when it began … */
	int64_t wall;   /* … by when_wall() */
	int64_t before; /* when_now(): the look before this one began; 0: there was none */
	/* what was known; the place's, which is busy */
	struct node *old;
	const struct seen *seen;
	struct catalog *old_con;
	uint64_t old_con_id, old_con_hash;
	/* the outcome, with references */
	struct node *node;     /* NULL: absent. May be `old` */
	struct seen *new_seen; /* NULL: as before */
	struct catalog *con;
	uint64_t con_id, con_hash; /* 0: consolidated metadata know nothing of it */
	bool own;                  /* the node's own objects were seen */
	bool partly;               /* only the .zarray: attributes are as old as before */
};

/* 0, ZMAP_ABSENT or -errno; fills the outcome. */
int look_at(struct look *);
void seen_free(struct seen *);

/* fetch.c */
struct fetch {
	unsigned want;                 /* bits of meta_kind */
	const struct seen *if_changed; /* versions that need not come again, or NULL */
	/* outcome of each that was wanted: 0, ZMAP_SAME, ZMAP_ABSENT, -errno */
	int result[META_KINDS];
	struct metas metas;
};
/* Asks for all that is wanted, at once where the store is remote. Fails only when nothing can be said at all. */
void fetch(const struct look *, struct fetch *);
/* Something lies below path. 1, 0, or -errno. */
int fetch_below(const struct look *);
/* The store's root is still what it was. 0, or -EIO with the reason. */
int fetch_alive(struct model *);

/* place.c */
/* The node at a path, everything above it looked at. walk (zeroed; may be NULL) is left as it stands for the node's children. */
int place_get(struct model *, const char *path, enum how, struct walk *, struct node **ret);
/* The same for a child of the node that the walk ends with, at its full path. */
int place_get_child(
	struct model *, const char *path, enum how, const struct walk *, struct node **ret);
/* siblings.c: place_get_child of a remote store, above stores, by HOW_LOOKUP; entries that will be asked for next are looked at too. */
int siblings_get(struct model *, const char *path, const struct walk *, struct node **ret);
struct place *place_find(const struct model *, const char *path); /* lock held */
void place_forget(struct model *, struct place *);                /* lock held; not busy */
void place_put_names(struct model *, struct place *, char **names, size_t n,
	int64_t due); /* takes the names over; lock held */
void place_put_listed(struct model *, struct place *, struct listed *); /* likewise */
/* Was the path listed as an object and nothing else? ret_begun: when the store was asked, if it said what ret has then; else 0. */
bool place_is_key(struct model *, const char *path, struct zmap_stat *ret, int64_t *ret_begun);
