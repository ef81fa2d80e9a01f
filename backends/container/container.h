/* A container: a store inside a store, which says where the chunks of its arrays lie instead of
 * holding objects of their names. Icechunk repositories and kerchunk's references are containers;
 * the wrapper `container` stands before every mounted store and sends each key to the container it
 * belongs to, or to the store.
 *
 * A kind of container fills struct container_ops and is one entry of the table in
 * container_table.c; the rest is shared: which keys belong to which array, ranges and conditions of
 * requests, fetching what a place says (bytes, a range of the store, a range of a URL that the user
 * permitted), comparing what came with what was referred to.
 *
 * All calls are safe from every thread. Outcomes as in store/zmap.h. */
#pragma once

#include "base/buf.h"
#include "store/zmap.h"

/* What a kind of container may use. What it points to lives until after close, but root and object
 * only until open returns. */
struct container_env {
	struct zmap *lower; /* where it lies: all its own objects are read there */
	const char *root;   /* the prefix of its keys in lower: "" or "a/b/" */
	const char *object; /* it is this one object of lower, key as for lower; NULL: it lies below
			       root */
	const char *home; /* URL of lower, decoded, without a '/' at its end: "file:///data"; NULL:
			     it has none */
	const struct zmap_options *options; /* of the mount: memory, ttl, timeout */
	/* Which version the user wants: "branch.NAME", "tag.NAME", an id or a time. NULL: the
	 * newest */
	const char *ref;
	const char *name; /* of the mount, where all of that is one container; NULL: it is not */
	bool named;       /* the user says that there is one, so what it lacks is an error */
};

enum place_kind {
	PLACE_BYTES, /* the chunk itself */
	PLACE_KEY,   /* bytes of an object of the lower store */
	PLACE_URL,   /* bytes of an object that the user must have permitted: -o virtual= */
};

struct container_source;

/* Where a chunk's bytes lie. Filled by locate, freed by chunk_place_free. */
struct chunk_place {
	enum place_kind kind;
	char *name; /* KEY: key in lower, root included; URL: absolute, with its scheme. malloc'd */
	struct span bytes; /* BYTES: of hold's */
	uint64_t off, len; /* KEY, URL: of the object, checked not to wrap; len 0: all of it */
	/* URL: what the object must be; else it is -EIO. etag: without its quotes, malloc'd; NULL:
	 * not said. */
	char *etag;
	int64_t modified; /* ns since 1970: not changed after that; 0: not said */
	/* URL: what its name stands for where the user says nothing of it, and the prefix to
	 * propose. malloc'd; NULL: itself; its folder */
	char *meant, *proposal;
	/* Of sources_find: the one form of what it means, malloc'd, and what the user permitted it
	 * by; NULL: nothing. */
	char *url;
	struct container_source *source;
	/* Changes when the bytes may: what names them (id, offset, length, checksum). "": nothing
	 * does, and the object is asked */
	char version[ZMAP_VERSION];
	void (*release)(void *hold); /* or NULL */
	void *hold;
};

void chunk_place_free(struct chunk_place *); /* what it holds, not itself */
/* The one form of a URL, "SCHEME://HOST/path": scheme and host in lower case, the rest decoded,
 * without query and fragment; of files "file:///path" without "..". The caller's to free. -EINVAL:
 * no URL. */
int place_canonical(const char *url, char **ret);
/* Adds a text to a URL, as %XX what it has of the characters `odd`. */
int place_encode(struct buf *, const char *text, size_t len, const char *odd);
/* For the longest of many prefixes: does something lie below this one, at a '/' of the URL, and is
 * it longer than *longest, which it then is the length of? Begins with 0. */
bool place_nearer(const char *url, struct span prefix, size_t *longest);

/* The head of each kind's own struct. */
struct container {
	const struct container_ops *ops;
};

struct container_ops {
	const char *name;
	const char *const *signs; /* names one of which lies in every such folder, NULL last; NULL:
				     it is no folder */
	bool consolidated;        /* there is none without a `.zmetadata` */
	/* Is there one? Looks at magic and contents, never at names alone, in as few requests as
	 * can be. ZMAP_ABSENT: no, or it is of another kind; -errno: there is one that cannot be
	 * opened. *ret is the caller's. */
	int (*open)(const struct container_env *, struct container **ret);
	void (*close)(struct container *);
	/* An object of metadata, key relative to the container ("t2m/zarr.json", ".zgroup"), whole.
	 * Appended to into, NULL: only its stat is wanted. stat: size, version (never ""), mtime if
	 * known; chunks = true. No key of a chunk is ever asked for here. */
	int (*document)(
		struct container *, const char *key, struct buf *into, struct zmap_stat *ret);
	/* As zmap_ops.list, prefix relative to the container. */
	int (*list)(struct container *, const char *prefix, zmap_list_fn *, void *arg);
	/* array relative to the container, rank and index as the array's metadata say. ZMAP_ABSENT:
	 * not written, shows the fill value. */
	int (*locate)(struct container *, const struct zmap_chunk *, int64_t deadline,
		struct cancel *, struct chunk_place *ret);
	/* Of a place at a URL that the user permitted nothing of: fills in meant and proposal, and
	 * then version, as far as anything is known. NULL: nothing ever is. */
	int (*explain)(struct container *, int64_t deadline, struct cancel *, struct chunk_place *);
	/* Looks whether there is a newer version, however lately it did. 0, -errno. NULL: it never
	 * changes. */
	int (*refresh)(struct container *);
	/* Appends the lines of zmap_history. NULL: none. */
	int (*history)(struct container *, struct buf *ret);
	/* Bytes of the tables that it keeps. NULL: hardly any. */
	size_t (*held)(struct container *);
};

/* Ends with NULL; asked in this order. */
extern const struct container_ops *const container_table[];

/* The store that is one container: object `object` of lower, which is taken over, also on failure.
 * For kinds that are one file. */
int container_open_over(struct zmap *lower, const char *object, const struct url *,
	const struct zmap_options *, const struct container_ops *, struct zmap **ret);
