/* A store: a map from keys to bytes.
 *
 * A key is a relative path with '/' between its parts ("t2m/.zarray", "t2m/c/0/1"), never empty, no empty
 * part, no "." or "..", no NUL; the wrapper here refuses others. What exists: a key that was put and not deleted.
 * There are no directories: a prefix "exists" as long as a key lies below it (an empty directory of a dir store lists as a prefix).
 *
 * Outcomes: 0 (or a count), a named positive outcome, or -errno with err_text. Absence is an outcome:
 * ZMAP_ABSENT. A refusal (403, EACCES) is -EACCES, an unreachable store -EIO, a passed deadline -ETIMEDOUT,
 * cancellation -EINTR, an object larger than `max` -EFBIG.
 *
 * All calls are safe from every thread. Backends fill struct zmap_ops; everybody else calls the functions
 * below, which check arguments, fill in missing hooks, count, and trace. */
#pragma once

#include "base/buf.h"
#include "base/url.h"
#include "base/when.h"

#include <stdatomic.h>

enum zmap_outcome {
	ZMAP_ABSENT = 1,  /* 404 */
	ZMAP_SAME = 2,    /* 304: if_none_match matched */
	ZMAP_CHANGED = 3, /* 412, 409: if_match or the put's if_version did not match */
	ZMAP_FAR = 4,     /* it takes a round trip, and zmap_get.near was said */
};

enum zmap_cap {
	ZMAP_WRITE = 1,
	ZMAP_LIST = 2,
	ZMAP_REMOTE = 4, /* each request costs a round trip: ask for many at once, ask once a TTL */
	ZMAP_CONDITIONAL = 8,
	ZMAP_NEAR =
		16, /* of a remote store: much can be had without a round trip, and zmap_get.near is understood */
};

enum { ZMAP_VERSION = 64 };

struct zmap_stat {
	uint64_t size; /* of the whole object */
	int64_t mtime; /* ns since 1970; 0: unknown */
	/* The latest time (ns since 1970) at which the key may have come to hold this: an old file can be put in the place of
	 * another. 0: as mtime says, which may be cut to seconds. */
	int64_t placed;
	/* Changes when the object does; "" if unknown or too long, never cut. */
	char version[ZMAP_VERSION];
};

/* One request. */
struct zmap_get {
	const char *key;
	uint64_t off; /* from the start; from_end: the last len bytes, off unused */
	size_t len;   /* 0: to the end */
	bool from_end;
	size_t whole; /* from_end: if all of the object comes anyway, and is no more than this, all of it is the answer */
	const char *if_match, *if_none_match; /* versions, or NULL */
	bool hold; /* other parts will be asked for by this version, perhaps when it is no longer the present one: a store that can, still has it then */
	bool fresh; /* other objects are understood by it: what was kept of it is not good enough, the store itself is asked */
	bool anew;  /* the bytes that came before were bad: no copy of them is good enough */
	bool near;  /* only if it takes no round trip */
	struct buf *into; /* bytes are appended behind into->len; untouched unless 0 is returned */
	size_t max;       /* at most this many bytes, else -EFBIG; never allocated beyond */
	int64_t deadline; /* when_now() clock; 0: none */
	struct cancel *cancel; /* or NULL */
	const atomic_bool *
		ahead; /* as long as it is true nobody waits for this, and what somebody waits for goes first; or NULL */
};

struct zmap;
typedef void zmap_done_fn(void *arg, int result, const struct zmap_stat *);
/* One entry of a listing: a name without '/', and whether keys lie below it (prefix) or it is a key itself
 * (both may be reported for one name, as two calls). stat may be NULL. Non-zero ends the listing. */
typedef int zmap_list_fn(void *arg, const char *name, bool prefix, const struct zmap_stat *);

/* Where the name of a bucket stands in its URL: in the path, or before the host's name. */
enum zmap_addressing { ZMAP_ADDRESSING_AUTO, ZMAP_ADDRESSING_PATH, ZMAP_ADDRESSING_VIRTUAL };

/* What a backend may be told besides its URL. */
struct zmap_options {
	bool writable;
	bool follow;     /* symlinks that lead out of a dir store */
	int64_t timeout; /* ns for one operation where the caller gives no deadline */
	/* of stores behind a network */
	unsigned connections; /* at once; 0: what the backend finds right */
	bool tls_insecure;    /* certificates are not verified */
	const char *
		ca_bundle; /* file of the certificates to trust; NULL: $AWS_CA_BUNDLE, else the system's */
	/* of S3 and its relatives; NULL: not said */
	const char *profile, *region, *endpoint;
	enum zmap_addressing addressing;
	bool requester_pays;
	bool verify;           /* whole objects by their ETags, where these are MD5 */
	const char *transport; /* another backend that is to do it: libs3 */
	const char
		*http_token_file; /* whose word is sent to a web server as its bearer's; or NULL */
	/* Objects of remote stores are kept on the local disk, in this directory; NULL: they are not. */
	const char *cache_dir;
	void (*warn)(const char
			*what); /* of what fails no call, but should be known; NULL: nobody cares */
	uint64_t cache_size;    /* bytes */
	int64_t cache_ttl; /* ns that the store is not asked whether they changed; INT64_MAX: never */
};

struct zmap_ops {
	const char *name;
	bool wraps; /* stands before another store: open gets the URL without its own word, and opens that with zmap_open */
	int (*open)(const struct url *, const struct zmap_options *, struct zmap **ret);
	void (*close)(struct zmap *);
	int (*stat)(struct zmap *, const char *key, struct zmap_stat *ret);
	int (*get)(struct zmap *, const struct zmap_get *, struct zmap_stat *ret);
	/* done is called once, on any thread, maybe before submit returns. NULL: zmap_submit runs get itself. */
	void (*submit)(struct zmap *, const struct zmap_get *, zmap_done_fn *, void *arg);
	/* One level below prefix ("" or "a/b/" with its '/'), paged inside. ZMAP_ABSENT: nothing there. What fn returned, if not 0. */
	int (*list)(struct zmap *, const char *prefix, zmap_list_fn *, void *arg);
	/* if_version NULL: whatever is there; "": only if nothing is. */
	int (*put)(struct zmap *, const char *key, struct span, const char *if_version);
	int (*del)(struct zmap *, const char *key);
	int (*sync)(struct zmap *); /* NULL: what put and del did is durable when they return */
	/* Is the store still where it was opened? 0, or -EIO with the reason (moved, emptied, bucket lost). NULL: cannot tell. */
	int (*alive)(struct zmap *);
	/* Appends what tells the store from all others, wherever options and environment say it is. NULL: its URL does. */
	int (*identity)(struct zmap *, struct buf *ret);
	/* More lines for .zarrfs/stats, appended. NULL: none. */
	int (*stats)(struct zmap *, struct buf *ret);
};

enum zmap_kind { ZMAP_GET, ZMAP_STAT, ZMAP_LISTING, ZMAP_PUT, ZMAP_DEL, ZMAP_KINDS };

struct zmap_counts {
	atomic_ullong calls[ZMAP_KINDS], failed[ZMAP_KINDS], absent[ZMAP_KINDS], bytes_in,
		bytes_out;
};

/* The head of every backend's own struct. ops and caps are set by the backend's open. */
struct zmap {
	const struct zmap_ops *ops;
	unsigned caps; /* enum zmap_cap */
	int64_t timeout; /* ns for calls that carry no deadline (stat, list, put …); set by zmap_open */
	struct zmap_counts counts;
};

/* From the generated table of backends. */
extern const struct zmap_ops *const backend_table[];

int zmap_open(const struct url *, const struct zmap_options *, struct zmap **ret);
/* For backends that leave a store to another. -ENOTSUP: this build has none of that name. */
int zmap_open_by(
	const char *backend, const struct url *, const struct zmap_options *, struct zmap **ret);
/* Closes and frees; returns NULL. NULL is allowed. */
struct zmap *zmap_close(struct zmap *);
CLEAN_DEFINE(struct zmap, zmap_close)

int zmap_stat(struct zmap *, const char *key, struct zmap_stat *ret);
/* ret may be NULL. -EFBIG never allocates. A short object for a range is what there is, 0 bytes at its end. */
int zmap_get(struct zmap *, const struct zmap_get *, struct zmap_stat *ret);
void zmap_submit(struct zmap *, const struct zmap_get *, zmap_done_fn *, void *arg);
int zmap_list(struct zmap *, const char *prefix, zmap_list_fn *, void *arg);
int zmap_put(struct zmap *, const char *key, struct span, const char *if_version);
int zmap_del(struct zmap *, const char *key);
int zmap_sync(struct zmap *);
int zmap_alive(struct zmap *);
int zmap_stats(struct zmap *, struct buf *ret);

/* 0, or -EINVAL with the reason. */
int zmap_check_key(const char *key);

/* For backends: which bytes of an object of `size` a request means. 0, or -EFBIG if they are more than its max. */
int zmap_range(const struct zmap_get *, uint64_t size, uint64_t *ret_off, size_t *ret_len);
/* 0, ZMAP_SAME or ZMAP_CHANGED, by the request's conditions. */
int zmap_condition(const struct zmap_get *, const char *version);
/* -EINTR or -ETIMEDOUT with a text when nobody waits any more, else 0. */
int zmap_patience(int64_t deadline, struct cancel *);
