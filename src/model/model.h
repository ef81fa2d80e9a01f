/* The groups and arrays of a store, as netCDF sees them: one model for every Zarr and NCZarr
 * dialect.
 *
 * Nodes are immutable once made, counted one by one and loaded lazily, level by level. A refresh
 * replaces nodes that changed; a holder of the old one goes on seeing the old one. What is odd in
 * one node marks that node (node->error), never the store. All calls are safe from every thread. */
#pragma once

#include "base/err.h"
#include "codec/codec.h"
#include "model/attr.h"
#include "model/dtype.h"
#include "model/edges.h"
#include "store/zmap.h"

enum node_kind {
	NODE_GROUP,
	NODE_ARRAY,
	NODE_PLAIN,  /* a directory or prefix that belongs to no Zarr hierarchy */
	NODE_OBJECT, /* a key that belongs to none: a read-only file with its own bytes */
};

/* One dimension of an array. */
struct dim {
	char *name;    /* simple name; NULL: anonymous */
	char *fqn;     /* "/g1/x" where NCZarr says so, else NULL: local to the array's group */
	uint64_t size; /* of this array in it */
	bool unlimited;
	/* Element i lies at origin + i × step along it, as the metadata of an image say
	 * (model/ngff.h). */
	bool placed;
	char letter; /* of the axis, as CF calls it: X, Y, Z, T; 0: none of them */
	double origin, step;
	char *unit; /* of both; NULL: not said */
};

struct array_meta {
	struct dtype dtype;
	unsigned rank;
	uint64_t *shape, *chunk; /* elements; chunk >= 1 everywhere */
	uint64_t *shard; /* elements of a stored object, where it is a shard whose chunks can be had
			    alone; NULL: a chunk is an object */
	struct edges *edges;    /* of a rectilinear grid, where `chunk` is the longest; NULL: it is
				   regular */
	struct dim *dim;        /* rank of them */
	char separator;         /* between chunk indices: '.' or '/' */
	bool separator_assumed; /* metadata do not name one, and the chunks were not looked at
				   yet */
	char key_form;          /* '2': "0.0"; 'c', V3's default: "c/0/0" */
	struct codec_spec *codec; /* in order of encoding, order F included as a transpose */
	size_t ncodecs;
	uint8_t *fill;    /* dtype.size bytes in the dtype's byte order; vlen: see fill_text */
	char *fill_error; /* why fill_value makes no sense: absent chunks cannot be read; NULL: it
			     does */
	bool null_fill;   /* fill_value null or absent: zeros */
	char *fill_text;  /* of vlen types, with a NUL behind it; "" if none */
	size_t fill_len;  /* bytes of it, which may be NULs too */
	uint32_t strlen_hint; /* _nczarr_maxstrlen, 0: not said */
	/* Version of the metadata by which the store is asked for chunks, see zmap_stat.chunks; in
	 * layout, too. NULL: chunks are objects. What it is of never changes. */
	char *chunks_of;
	unsigned zarr_format; /* 2 or 3 */
	char order;           /* 'C' or 'F', as stored; for user.zarrfs.* only */
	uint64_t layout;      /* fingerprint of everything that decides what the chunks mean (type,
				 chunks, codecs, keys) but not shape */
};

/* What NCZarr (any generation) says of a group, and what holds for all of its Zarr hierarchy. */
struct group_meta {
	struct dim *dim; /* declared in this group, in their order */
	size_t ndims;
	char **order; /* names of its arrays, then of its groups, in order of definition */
	size_t norder;
	struct ngff *ngff; /* what it says of the image that its arrays are; NULL: they are none */
	bool nczarr;       /* the hierarchy has NCZarr metadata, and they count */
	bool v1;           /* in objects of their own (netcdf-c 4.8.0) */
	bool v3;           /* Zarr version 3, and what lies below too */
	unsigned writer;   /* netcdf-c that wrote the hierarchy: 40902 is 4.9.2; 0: not said */
};

struct node {
	atomic_uint refs;
	enum node_kind kind;
	uint64_t serial; /* of two nodes of a path, what a model saw later has the higher one */
	char *path; /* "" for the root, else "g1/t2m": the key prefix without a '/' at either end */
	const char *name;           /* last part of path */
	int64_t mtime;              /* newest metadata object's, ns; 0: unknown */
	char version[ZMAP_VERSION]; /* of the node's own metadata objects together */
	uint64_t document;          /* of an array: what tells the version of the object that makes
				       it one from others, also of equal bytes */
	uint64_t size;              /* NODE_OBJECT: bytes */
	struct array_meta *array;   /* NODE_ARRAY whose shape and type are known, else NULL */
	struct group_meta *group;   /* NODE_GROUP, else NULL */
	const char *attrs_text;     /* raw JSON of the attributes, or NULL: node_attrs makes them */
	size_t attrs_len;
	const char *made_of; /* last part of the key that makes it an array; NULL: no array */
	bool nczarr;         /* attributes carry recorded types */
	char *error;    /* why it cannot be read, one line; NULL: it can, as far as metadata say */
	int error_code; /* -errno of that */
	char *flaw;     /* what else of an array's metadata makes no sense; it can be read all the
			   same */
	struct attr_context *attr_context; /* what node_attrs needs besides; may be NULL */
};

struct node *node_ref(struct node *);
struct node *node_unref(struct node *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct node, node_unref)

/* product(shape), or UINT64_MAX where it overflows. */
uint64_t array_count(const struct array_meta *);

/* Typed attributes in their order; hidden ones (_ARRAY_DIMENSIONS, _nczarr_*, _NCProperties …) left
 * out. Caller frees with attrs_free. */
int node_attrs(const struct node *, struct attrs *ret);

enum consolidated { CONSOLIDATED_PREFER, CONSOLIDATED_TRUST, CONSOLIDATED_IGNORE };

struct model_options {
	int64_t ttl; /* ns; INT64_MAX: immutable */
	enum consolidated consolidated;
	unsigned mode;    /* enum url_mode of the URL */
	bool missing_403; /* -o missing=403 */
	int64_t timeout;  /* ns for one operation */
	size_t meta_max;  /* largest metadata object, bytes; 0: 512 MiB */
	size_t nodes_max; /* bytes that nodes may take, roughly: others go, the oldest first; 0:
			     any */
	void (*warn)(const char *what); /* of what fails no call, but should be known; NULL: it is
					   not told */
	bool detect_separator; /* where metadata do not name one, look how the chunks are really
				  called */
};

struct model;
int model_open(struct zmap *, const struct model_options *,
	struct model **ret); /* zmap stays the caller's */
struct model *model_close(struct model *);

/* The node at path ("" root, "a/b"). 0 and a reference; ZMAP_ABSENT; -errno. Looks at the store
 * again after the TTL. */
int model_lookup(struct model *, const char *path, struct node **ret);
/* As model_lookup, but a name that consolidated metadata lack, or a listing that still holds, is
 * absent: the store is not asked. */
int model_lookup_known(struct model *, const char *path, struct node **ret);
/* A listing of a store, which began at clock_now() == begun, lacks the name: of a path that was not
 * asked for yet that is as good as an answer of that time. */
void model_unlisted(struct model *, const char *path, int64_t begun);
/* As model_lookup, but the node's own metadata is surely not older than the TTL, consolidated or
 * not: for opening a variable. */
int model_check(struct model *, const char *path, struct node **ret);
/* As model_check, but looks now, whatever the TTL (one cheap request if nothing changed). */
int model_look_again(struct model *, const char *path, struct node **ret);
/* Would model_check have to ask the store now? */
bool model_is_due(struct model *, const char *path);
/* When the consolidated metadata that the path is below, or at, were last found to be older than an
 * array's own, clock_now(); 0: never. What was looked at before then is due. */
int64_t model_doubted(struct model *, const char *path);
/* When the node's own metadata were last seen, clock_wall() clock; 0: never, or it was gone. *ret
 * (or ret NULL): a reference to the node as it was then; NULL: it is not known apart from
 * consolidated metadata. Where that is before `wanted` it waits for the look that is under way. */
int64_t model_seen(struct model *, const char *path, int64_t wanted, struct node **ret);

/* From now on, the least time (clock_now) until which what this thread is told by lookups and
 * listings holds goes to *until, which is INT64_MAX at first: for as long as model_moment is the
 * same. One at a time in a thread; NULL ends it. */
void model_watch(int64_t *until);
/* A number that is another one once consolidated metadata were read again, or a commit of this
 * model made or removed a node. */
uint64_t model_moment(struct model *);
/* How often that was so far for the commits alone. */
uint64_t model_renamed(struct model *);

/* Children of a group or plain directory in a stable order. known: the kind is certain (else
 * readdir says DT_UNKNOWN and kind is a guess). */
struct model_child {
	const char *name;
	enum node_kind kind;
	bool known;
};
typedef int model_child_fn(const struct model_child *, void *arg);
int model_children(struct model *, const char *path, model_child_fn *fn, void *arg);
/* Makes sure that what `ls -l` of a group needs is loaded, requests in parallel. */
int model_preload(struct model *, const char *path);
/* Metadata of this group come from consolidated metadata: which reading of them, never the same
 * twice. 0: they do not. */
uint64_t model_consolidated(struct model *, const char *path);
/* Whether the root was found to have any. Asks the store nothing. */
bool model_has_consolidated(struct model *);

/* Forgets when things were last seen, so that all is looked at again on access. Adds a line for
 * each node that changed to `ret` (may be NULL). */
int model_refresh(struct model *, struct buf *ret);
/* Told of each node that was replaced or vanished (new NULL), with no lock held: of two looks by
 * two threads maybe of the later one first. Set once before use. */
typedef void model_changed_fn(void *arg, struct node *old, struct node *new);
void model_on_change(struct model *, model_changed_fn *, void *arg);
/* Drops nodes without holders, for the memory budget; returns bytes freed, roughly. */
size_t model_trim(struct model *);
size_t model_bytes(struct model *);
/* Without consolidated metadata, which stay. */
size_t model_loose_bytes(struct model *);
/* Bytes of nodes that others have displaced so far. */
size_t model_dropped(struct model *);
