/* What the parts of the zip store share: zip.c (the archive as a store), zip_read.c (the bytes of a
 * member). */
#pragma once

#include "backends/zip/index.h"
#include "base/err.h"
#include "store/zmap.h"

/* What a member's version is made of besides its checksum, and when that came: it stays when a
 * writer of the archive copies the member. */
struct zip_origin {
	uint64_t archive, place;
	int64_t mtime;
};

/* One version of the archive. Counted; immutable but for what is learnt of where members' bytes
 * begin. */
struct archive {
	atomic_uint refs;
	uint64_t serial; /* of this process: no two have the same */
	struct zmap_stat stat;
	struct zip_index *index;
	bool whole;      /* kept is all of it, since the store sends no parts */
	struct buf kept; /* its last bytes, as they came with its directory; or nothing */
	struct zip_origin
		*origin;    /* of each member, in an archive that was written here; or NULL */
	atomic_llong known; /* clock_now() of the last request that found this version there */
	atomic_ullong
		*begin; /* of each member: where its bytes begin in the archive; 0: not yet known */
};

struct archive *archive_ref(struct archive *); /* NULL is allowed */
struct archive *archive_unref(struct archive *);
CLEAN_DEFINE(struct archive, archive_unref)

enum {
	ZIP_PARKED = 8,
	ZIP_LOOK_REMOTE = 500 * 1000 *
			  1000, /* ns for which a remote archive is taken to be as it was found */
};

struct zip_stream;
struct zip_writer;

struct zip_store {
	struct zmap z;
	struct zmap *lower; /* where the archive is an object */
	char *key;
	struct zip_writer *writer; /* NULL: it is not written */
	struct err unwritable;     /* why not, where it was wanted */
	int64_t keep; /* ns for which the end of a remote archive is not asked for again; 0: it is
			 not kept */
	atomic_uint
		extra; /* how long the extra field of a local header was lately: most are alike */

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t looked;
	struct archive *now;
	bool looking;
	int64_t next_look;
	struct err failure; /* why what is there now cannot be used; code 0: it can */
	struct zip_stream *parked[ZIP_PARKED]; /* where a reader of a deflated member may go on */
	unsigned next_parked;
};

/* The archive that is there now: one or two requests. 0, or -errno with the reason (-ENOENT: there
 * is none). */
int archive_open(struct zip_store *, struct archive **ret);

/* One read of bytes [off, off + len) of a member, as the request `get` wants it. */
struct zip_reading {
	struct zip_store *zip;
	struct archive *archive;
	const struct zip_member *member;
	const struct zmap_get *get;
	uint64_t off;
	size_t len;
};

/* Members and names, by few requests. tail: the archive's last bytes. 0, -EIO with the reason if it
 * is no archive, or as zip_fetch. */
int zip_read_directory(const struct zip_reading *, struct span tail, struct zip_index **ret);

/* Appends the bytes to get->into. 0, -errno, or ZMAP_CHANGED: the archive is another one by now.
 * Bytes of a whole member are those that its checksum is of. */
int zip_read(const struct zip_reading *);
/* The same for a deflated member, inflated no further than needed. */
int zip_stream_read(const struct zip_reading *);
struct zip_stream *zip_stream_free(struct zip_stream *);

/* Is the read of a whole member that one range, as far as can be guessed, will bring as it is? Its
 * place in the archive. */
bool zip_foretell(const struct zip_reading *, uint64_t *ret);
/* Was that so? The member's bytes lie at the end of get->into. 0 or -EIO. */
int zip_confirm(const struct zip_reading *, uint64_t begin);

/* Are these bytes of the archive kept? */
bool zip_kept(const struct zip_reading *, uint64_t off, uint64_t len);
/* Bytes of the archive. 0, -errno, ZMAP_CHANGED. */
int zip_fetch(const struct zip_reading *, uint64_t off, size_t len, struct buf *into);
/* Where the member's bytes begin, by its local header. 0, -errno, ZMAP_CHANGED. */
int zip_find_bytes(const struct zip_reading *, uint64_t *ret);

/* The archive that is object `key` of another store, which is taken over, also on failure. keep: as
 * in zip_store. path: of an archive that is to be written, a local file; or NULL. */
int zip_open_over(
	struct zmap *lower, const char *key, int64_t keep, const char *path, struct zmap **ret);
