/* A store: a map from keys to bytes.
 *
 * A key is a relative path with '/' between its parts ("t2m/.zarray", "t2m/c/0/1"), never empty, no
 * empty part, no "." or "..", no NUL; the wrapper here refuses others. What exists: a key that was
 * put and not deleted. There are no directories: a prefix "exists" as long as a key lies below it
 * (an empty directory of a dir store lists as a prefix).
 *
 * Outcomes: 0 (or a count), a named positive outcome, or -errno with err_text. Absence is an
 * outcome: ZMAP_ABSENT. A refusal (403, EACCES) is -EACCES, an unreachable store -EIO, a passed
 * deadline -ETIMEDOUT, cancellation -EINTR, an object larger than `max` -EFBIG.
 *
 * All calls are safe from every thread. Backends fill struct zmap_ops; all other parts call the
 * functions below, which check arguments, fill in missing hooks, count, and trace. */
#pragma once

#include "base/buf.h"
#include "base/url.h"
#include "base/clock.h"

#include <stdatomic.h>

enum zmap_outcome {
	ZMAP_ABSENT = 1,    /* 404 */
	ZMAP_SAME = 2,      /* 304: if_none_match matched */
	ZMAP_CHANGED = 3,   /* 412, 409: if_match or if_absent did not hold */
	ZMAP_NOT_LOCAL = 4, /* it takes a round trip, and zmap_get.local_only was said */
};

enum zmap_cap {
	ZMAP_WRITE = 1,
	ZMAP_LIST = 2,
	ZMAP_REMOTE = 4, /* each request costs a round trip: ask for many at once, ask once a TTL */
	ZMAP_CONDITIONAL = 8,
	/* Of a remote store: much can be had without a round trip, and zmap_get.local_only is
	 * understood. */
	ZMAP_LOCAL_COPIES = 16,
	ZMAP_CHUNKS = 32, /* zmap_get.chunk is understood */
	ZMAP_PROMPT = 64, /* a local disk, or memory: a thread that wants bytes may as well fetch
			     them itself */
	ZMAP_EXCHANGED = 128, /* another store may come to be at its place, with objects as old as
				 it likes, and only its metadata tell */
};

enum { ZMAP_VERSION = 64 };

struct zmap_stat {
	uint64_t size; /* of the whole object */
	int64_t mtime; /* ns since 1970; 0: unknown */
	/* The latest time (ns since 1970) at which the key may have come to hold this: an old file
	 * can be put in the place of another. 0: as mtime says, which may be cut to seconds. */
	int64_t placed;
	/* Changes when the object does; "" if unknown or too long, never cut. */
	char version[ZMAP_VERSION];
	bool kept; /* a copy that was at hand: the store itself was not asked */
	/* Of metadata: what describes an array stands for all that its chunks are, too, so that
	 * they are asked for by zmap_get.chunk with this version. What it describes never changes;
	 * another version is another array. */
	bool chunks;
};

/* A chunk by its place in the grid, for stores that hold references to chunks (Icechunk, kerchunk)
 * instead of objects of their names. All of it is the caller's, and need not outlive the call. */
struct zmap_chunk {
	const char *array;   /* path of the array; "": the root is one */
	const char *version; /* that came with the array's metadata (zmap_stat.chunks) */
	unsigned rank;       /* of the array's metadata; 0: a scalar, index is not looked at */
	const uint64_t *index;
};

/* One request. */
struct zmap_get {
	const char *key;
	/* The same chunk by its coordinates, where the metadata's zmap_stat said `chunks`; else
	 * NULL. Then key is for messages only, and sizes, ranges and versions are those of the
	 * chunk, wherever its bytes lie: size is that of the encoded chunk. Outcomes are the same;
	 * a reference to what is not there, or is not what was referred to, is -EIO and never
	 * ZMAP_ABSENT. -ESTALE: the version of the metadata is too old, look the array up again. */
	const struct zmap_chunk *chunk;
	uint64_t off; /* from the start; from_end: the last len bytes, off unused */
	size_t len;   /* 0: to the end */
	bool from_end;
	size_t whole; /* from_end: if all of the object comes anyway, and is no more than this, all
			 of it is the answer */
	const char *if_match, *if_none_match; /* versions, or NULL */
	/* Other parts will be asked for by this version, perhaps when it is no longer the present
	 * one: a store that can, still has it then. */
	bool pin_version;
	/* Other objects are understood by it: what was kept of it is not good enough, the store
	 * itself is asked. */
	bool revalidate;
	bool bypass_cache; /* the bytes that came before were bad: no copy is good enough */
	bool local_only;   /* only if it takes no round trip */
	bool unplaced;     /* the answer's `placed` is not looked at */
	/* A chunk of an array whose metadata came from here: where another folder has come to be at
	 * its place since they were read, it may for a moment still be the one in theirs. */
	bool of_array;
	struct buf *into; /* bytes are appended behind into->len; untouched unless 0 is returned */
	size_t max;       /* at most this many bytes, else -EFBIG; never allocated beyond */
	int64_t deadline; /* clock_now() clock; 0: none */
	struct cancel *cancel;    /* or NULL */
	const atomic_bool *ahead; /* as long as it is true no reader waits for this, and requests
				     that one waits for go first; or NULL */
};

/* One object written whole: what was there, or this, and nothing in between, whatever happens. */
struct zmap_put {
	const char *key;
	struct span bytes;
	const char *if_match; /* only if it is there in this version; NULL: whatever is */
	bool if_absent;       /* only if nothing is there; never beside if_match */
	/* clock_now() clock; 0: the store's timeout from now on, and anew with each byte that the
	 * store takes for the first time */
	int64_t deadline;
	int64_t put_off; /* zmap_put's own: so far ahead is the deadline after each such byte; 0: it
			    stands */
	struct cancel *cancel; /* or NULL */
};

struct zmap_del {
	const char *key;
	const char *if_match; /* likewise */
	int64_t deadline;
	struct cancel *cancel;
};

struct zmap;
typedef void zmap_done_fn(void *arg, int result, const struct zmap_stat *);
/* One entry of a listing: a name without '/', and whether keys lie below it (prefix) or it is a key
 * itself (both may be reported for one name, as two calls). stat may be NULL. Non-zero ends the
 * listing. */
typedef int zmap_list_fn(void *arg, const char *name, bool prefix, const struct zmap_stat *);

/* Where the name of a bucket stands in its URL: in the path, or before the host's name. */
enum zmap_addressing { ZMAP_ADDRESSING_AUTO, ZMAP_ADDRESSING_PATH, ZMAP_ADDRESSING_VIRTUAL };

/* By what whole objects are compared with what the store says of them: CRCs, which cost next to
 * nothing; or also SHA, and ETags that are MD5. */
enum zmap_verify { ZMAP_VERIFY_AUTO, ZMAP_VERIFY_FALSE, ZMAP_VERIFY_TRUE };

/* What a backend may be told besides its URL. */
struct zmap_options {
	bool writable;
	bool follow;     /* symlinks that lead out of a dir store */
	int64_t timeout; /* ns for one operation where the caller gives no deadline */
	/* of stores behind a network */
	unsigned connections;  /* at once; 0: what the backend finds right */
	bool tls_insecure;     /* certificates are not verified */
	const char *ca_bundle; /* file of the certificates to trust; NULL: $AWS_CA_BUNDLE, else the
				  system's */
	/* of S3 and its relatives; NULL: not said */
	const char *profile, *region, *endpoint;
	enum zmap_addressing addressing;
	bool requester_pays;
	enum zmap_verify verify;
	const char *transport; /* another backend that is to do it: libs3 */
	const char
		*http_token_file; /* whose word is sent to a web server as its bearer's; or NULL */
	bool no_token; /* no bearer's word is sent, that of the environment neither: another store
			  than the user's */
	/* Objects of remote stores are kept on the local disk, in this directory; NULL: they are
	 * not. */
	const char *cache_dir;
	void (*warn)(const char *what); /* of what fails no call, but should be known; NULL: it is
					   not told */
	uint64_t cache_size;            /* bytes */
	int64_t cache_ttl; /* ns that the store is not asked whether they changed; INT64_MAX:
			      never */
	/* of stores inside the store: repositories, sets of references */
	bool containers; /* zmap_enter looks for them */
	int64_t ttl;     /* ns that the one object which says what their versions are is good for;
			    INT64_MAX: for ever */
	size_t memory;   /* bytes that their tables may take; 0: what they find right */
	const char *ref; /* which version of them: "branch.NAME", "tag.NAME", an id or a time; NULL:
			    not said */
	/* "PREFIX" or "FROM=>TO" each: URLs that references may lead to; NULL-terminated, or NULL:
	 * none */
	const char *const *virtual_urls;
	const struct zmap_ops *const
		*backends; /* those there are, NULL-terminated; zmap_open sets it */
};

struct zmap_ops {
	const char *name;
	bool wraps; /* stands before another store: open gets the URL without its own word, and
		       opens that with zmap_open_inner */
	int (*open)(const struct url *, const struct zmap_options *, struct zmap **ret);
	void (*close)(struct zmap *);
	int (*stat)(struct zmap *, const char *key, struct cancel *, struct zmap_stat *ret);
	int (*get)(struct zmap *, const struct zmap_get *, struct zmap_stat *ret);
	/* done is called once, on any thread, maybe before submit returns. NULL: zmap_submit runs
	 * get itself. */
	void (*submit)(struct zmap *, const struct zmap_get *, zmap_done_fn *, void *arg);
	/* One level below prefix ("" or "a/b/" with its '/'), paged inside. ZMAP_ABSENT: nothing
	 * there. What fn returned, if not 0. */
	int (*list)(struct zmap *, const char *prefix, zmap_list_fn *, void *arg);
	/* A condition is asked of ZMAP_CONDITIONAL stores only. ret is never NULL, and all zeros
	 * before. */
	int (*put)(struct zmap *, const struct zmap_put *, struct zmap_stat *ret);
	int (*del)(struct zmap *, const struct zmap_del *);
	int (*sync)(struct zmap *); /* NULL: what put and del did is durable when they return */
	/* zmap_try_writing. NULL: what caps say is all that there is to say. */
	int (*try_writing)(struct zmap *, struct buf *said);
	/* zmap_enter. NULL: there are none. */
	int (*enter)(struct zmap *, const char *path, bool bare);
	/* zmap_enter_sign. NULL: none is. */
	bool (*sign)(struct zmap *, const char *name);
	/* zmap_history. NULL: there is none. */
	int (*history)(struct zmap *, struct buf *ret);
	/* Is the store still where it was opened? 0, or -EIO with the reason (moved, emptied,
	 * bucket lost). NULL: cannot tell. */
	int (*alive)(struct zmap *);
	/* Appends what tells the store from all others, wherever options and environment say it is.
	 * NULL: its URL does. */
	int (*identity)(struct zmap *, struct buf *ret);
	/* More lines for .zarrfs/stats, appended. NULL: none. */
	int (*stats)(struct zmap *, struct buf *ret);
	/* zmap_held. NULL: nothing. */
	size_t (*held)(struct zmap *);
};

enum zmap_kind { ZMAP_GET, ZMAP_STAT, ZMAP_LISTING, ZMAP_PUT, ZMAP_DEL, ZMAP_KINDS };

struct zmap_counts {
	atomic_ullong calls[ZMAP_KINDS], failed[ZMAP_KINDS], absent[ZMAP_KINDS], bytes_in,
		bytes_out;
};

/* The head of every backend's own struct. ops and caps are set by the backend's open. */
struct zmap {
	const struct zmap_ops *ops;
	unsigned caps;   /* enum zmap_cap */
	int64_t timeout; /* ns for calls that carry no deadline (stat, list, put …); set by
			    zmap_open_inner */
	size_t list_max; /* bytes, roughly, that a kept listing may take; the owner's to set. 0: as
			    many as there are */
	struct zmap_counts counts;
};

/* Generated: those of this build, which zmap_open takes. */
extern const struct zmap_ops *const backend_table[];

int zmap_open(const struct url *, const struct zmap_options *, struct zmap **ret);
/* For backends that stand before another store: the same, with the options that they were given. */
int zmap_open_inner(const struct url *, const struct zmap_options *, struct zmap **ret);
/* For backends that leave a store to another. -ENOTSUP: this build has none of that name. */
int zmap_open_by(
	const char *backend, const struct url *, const struct zmap_options *, struct zmap **ret);
/* Closes and frees; returns NULL. NULL is allowed. */
struct zmap *zmap_close(struct zmap *);
CLEAN_DEFINE(struct zmap, zmap_close)

int zmap_stat(struct zmap *, const char *key, struct zmap_stat *ret);
/* The same; -EINTR as soon as no program waits for it any more. */
int zmap_stat_while(struct zmap *, const char *key, struct cancel *, struct zmap_stat *ret);
/* ret may be NULL. -EFBIG never allocates. A short object for a range is what there is, 0 bytes at
 * its end. */
int zmap_get(struct zmap *, const struct zmap_get *, struct zmap_stat *ret);
void zmap_submit(struct zmap *, const struct zmap_get *, zmap_done_fn *, void *arg);
int zmap_list(struct zmap *, const char *prefix, zmap_list_fn *, void *arg);
/* 0, ZMAP_CHANGED or -errno; -ENOTSUP: the store has no conditions (ZMAP_CONDITIONAL). ret, which
 * may be NULL, is what the put left there, with the version that it has until another program
 * replaces it; "" if the store does not say. After a failure either may be there, the old object or
 * the new one, but nothing else. */
int zmap_put(struct zmap *, const struct zmap_put *, struct zmap_stat *ret);
/* 0, ZMAP_ABSENT, ZMAP_CHANGED or -errno; -ENOTSUP: this store cannot delete on a condition. */
int zmap_del(struct zmap *, const struct zmap_del *);
/* Returns when all that put and del did before is durable, or with the error that prevents it. */
int zmap_sync(struct zmap *);
/* Once, before the first put, and before other threads use the store: can it be written, and does
 * it keep what ZMAP_CONDITIONAL promises? 0; -EROFS, -EACCES … with the reason. Appends a line to
 * said for each promise that does not hold here; without conditions ZMAP_CONDITIONAL is not in caps
 * any more. */
int zmap_try_writing(struct zmap *, struct buf *said);
int zmap_alive(struct zmap *);
/* Does a store of another kind lie at this path ("": the root), such as a repository? 1: yes, and
 * from now on the keys below the path are that store's; 0: no; -errno: it cannot be told, or one is
 * there that cannot be opened. For paths that nothing else is known of. bare: there is no
 * `.zmetadata`, as is known already. */
int zmap_enter(struct zmap *, const char *path, bool bare);
/* Is an entry of that name a sign that zmap_enter may find something at the path that it lies
 * below? Where none is, nothing is there. */
bool zmap_enter_sign(struct zmap *, const char *name);
/* Appends one line for each version of the stores that were entered. ret NULL: nothing is asked
 * for. ZMAP_ABSENT: none of them has versions. */
int zmap_history(struct zmap *, struct buf *ret);
int zmap_stats(struct zmap *, struct buf *ret);
/* Bytes of tables that are kept in memory, and count there beside what is cached. */
size_t zmap_held(struct zmap *);

/* 0, or -EINVAL with the reason. */
int zmap_check_key(const char *key);

/* For backends: which bytes of an object of `size` a request means. 0, or -EFBIG if they are more
 * than its max. */
int zmap_range(const struct zmap_get *, uint64_t size, uint64_t *ret_off, size_t *ret_len);
/* 0, ZMAP_SAME or ZMAP_CHANGED, by the request's conditions. */
int zmap_condition(const struct zmap_get *, const char *version);
/* For wrappers: zmap_try_writing of the store below, whose promises are this one's. */
int zmap_try_below(struct zmap *, struct zmap *below, struct buf *said);
/* For try_writing: the line about a store without conditions. 0 or -ENOMEM. */
int zmap_say_unconditional(struct buf *said, const char *why);
/* -EINTR or -ETIMEDOUT with a text when no program waits any more, else 0. */
int zmap_patience(int64_t deadline, struct cancel *);
