/* A mounted store: paths ↔ what stands behind them. Everything a user can see of a mount goes
 * through here, with or without a kernel: fuse/ and `--ls`, `--cat` are two callers of the same
 * names and bytes. Safe from every thread.
 *
 * Paths are relative to the mount, without '/' at either end; "" is the root. */
#pragma once

#include "model/model.h"
#include "view/stale.h"
#include "view/view.h"

#include <sys/types.h>

enum endian { ENDIAN_NATIVE, ENDIAN_LITTLE, ENDIAN_BIG, ENDIAN_STORED };

enum nc_form { NC_FORM_AUTO, NC_FORM_CDF1, NC_FORM_CDF2, NC_FORM_CDF5, NC_FORM_NC4 };

enum empty_chunks { EMPTY_KEEP, EMPTY_DELETE };

enum new_codec { NEW_LZ4, NEW_ZSTD, NEW_ZLIB, NEW_NONE };

struct mount_options {
	struct model_options model;
	struct data_options data;
	struct zmap_options zmap;
	enum endian endian;
	uint32_t strlen;  /* width of variable-length elements nothing says more about: 128 */
	unsigned list;    /* enum list_word, together; 0: flat and nc, and cdl where metadata are
			     consolidated */
	uint32_t picture; /* pixels of a picture's longer side; 0: 1024 */
	enum nc_form nc;  /* of netCDF files that are not called otherwise */
	const char *unlimited; /* the dimension that becomes the record dimension; NULL: none.
				  Outlives the mount */
	uid_t uid;
	gid_t gid;
	mode_t umask;
	int (*config)(struct buf *ret); /* text of .zarrfs/config, by the parser of the options; may
					   be NULL */
	bool read_whole; /* what is opened will be: all of its metadata are asked for at once */
	bool rw;
	/* What may be written, and how; all of it means nothing without rw. */
	bool allow_delete;              /* of arrays */
	enum empty_chunks empty_chunks; /* what becomes of chunks that are all fill */
	size_t image;                   /* bytes of a netCDF file that wait to be understood */
	/* How new arrays are stored: as the user wrote it, NULL or 0 where nothing was said.
	 * Outlives the mount. */
	uint64_t chunk;       /* bytes of a chunk of a new variable; 0: 4 MiB */
	enum new_codec codec; /* by which they are compressed */
	uint64_t shard; /* Zarr V3: bytes of an object that holds many chunks; 0: each is one */
	unsigned zarr_format; /* 2 or 3: of hierarchies that begin */
};

struct mount;
/* Opens the store and looks at its root: 0 only when it answered and is a store, or stands above
 * stores. */
int mount_open(const char *store, const struct mount_options *, struct mount **ret);
struct mount *mount_close(struct mount *);
const char *mount_shown(struct mount *); /* the URL for df: no user information, no query */
const struct mount_options *mount_options(struct mount *);
struct data *mount_data(struct mount *);

enum entry_kind { ENTRY_DIR, ENTRY_FILE };

/* What a path names at one moment: a plain value with references. */
struct entry {
	enum entry_kind kind;
	char *path;
	uint64_t ino; /* stable across mounts: a hash of path (which tells the view too); never 0 */
	uint64_t version; /* of the layout: changes when bytes may not be mixed with what was read
			     before */
	uint64_t size;
	int64_t mtime;               /* ns */
	mode_t mode;                 /* with type bits, umask applied */
	bool unknown_length;         /* .zarrfs files: size is not known, direct I/O */
	struct node *node;           /* NULL for entries of .zarrfs */
	const struct view_ops *view; /* files of variables; else NULL */
	int special;                 /* enum of mount.c for .zarrfs and .store; 0: none */
	const struct file_kind *by;  /* what answers for this name instead of a node; or NULL */
};

void entry_free(struct entry *); /* what it holds, not itself */
/* A netCDF file: what a read() of it lacks, libnetcdf takes for zeros. */
bool entry_is_netcdf(const struct entry *);
/* 0, ZMAP_ABSENT, -errno. */
int mount_lookup(struct mount *, const char *path, struct entry *ret);
/* The same for a listing, which waits for no data: -EAGAIN where the size of the file depends on
 * them, and they were not read yet. lacking: clock_now() before the listing that showed it with
 * MOUNT_NO_NODE, else 0. */
int mount_lookup_listed(struct mount *, const char *path, int64_t lacking, struct entry *ret);

/* Called for each entry, in an order that is the same at each call as long as nothing changed.
 * type: DT_DIR, DT_REG, DT_UNKNOWN, and with MOUNT_ASK_TO_SEE where a lookup asks the store about
 * this entry alone, with MOUNT_NO_NODE where the store was listed and has no such name. */
enum { MOUNT_ASK_TO_SEE = 0x80, MOUNT_NO_NODE = 0x40 };
typedef int mount_dir_fn(void *arg, const char *name, uint64_t ino, unsigned char type);
int mount_list(struct mount *, const char *path, mount_dir_fn *fn, void *arg);
/* Before `ls -l`: what lookups of all entries will need, in parallel. */
int mount_preload(struct mount *, const char *path);

struct file;
/* The entry as looked up; metadata are checked (TTL). -ESTALE: the entry's version is not the
 * present one, look it up again. */
int file_open(struct mount *, const struct entry *, struct file **ret);
/* The same with the flags of open(2): how it is to be written, and O_TRUNC. -EACCES: no file of
 * this sort can be; -EROFS: not this one. */
int file_open_for(struct mount *, const struct entry *, int flags, struct file **ret);
/* Looks at what an open would look at, and opens nothing: the next lookup of its path finds what
 * can be opened. */
void file_look(struct mount *, const struct entry *);
struct file *file_close(struct file *);
/* Past the end: a shorter or empty reply. */
int file_read(struct file *, const struct array_want *, struct reply *ret);
uint64_t file_size(struct file *);

/* How a write came: O_APPEND; from a page that a program has mapped, of which only the bytes that
 * differ from what was shown count. */
enum file_write_flag { FILE_APPEND = 1, FILE_MAPPED = 2 };
/* All bytes or none. how: deadline, cancel and since; its off and len count for nothing. Seen at
 * once by all readers of the file. */
int file_write(
	struct file *, uint64_t off, struct span, const struct array_want *how, unsigned flags);
/* truncate(2), by the file's name; ftruncate(2); posix_fallocate(3): a file that is longer when its
 * turn comes stays so. */
enum file_resize { RESIZE_NAMED, RESIZE_HANDLE, RESIZE_LONGER };
int file_truncate(struct file *, uint64_t size, enum file_resize, struct cancel *);
enum settle_why { SETTLE_FLUSH, SETTLE_FSYNC, SETTLE_RENAME, SETTLE_OTHER_READ, SETTLE_RELEASE };
/* What was written is in the store, or why it is not; other files show it. deadline 0: as long as
 * it takes. */
int file_settle(struct file *, enum settle_why, int64_t deadline, struct cancel *);
/* The kernel is to keep no pages of it. */
bool file_is_direct(const struct file *);
/* Its pages are only for mappings: a page that is read for a few bytes costs a far store many
 * chunks, see array_is_spread. */
bool file_is_spread(const struct file *);
/* How long the open file is now, if it is one that can be longer or shorter than what its name
 * leads to; else false. */
bool file_own_size(struct file *, uint64_t *ret);
/* Was it opened for writing? */
bool file_is_writable(const struct file *);
/* Is each read() of it to be whole or to fail, so that it goes past the kernel's pages? A netCDF
 * file, but for one of netCDF-4 with much metadata. */
bool file_goes_whole(const struct file *);
/* A read of these bytes was answered for having no time left, while its thread is still at it: what
 * is asked for again at once does not wait as long. */
void file_late(struct file *, uint64_t off, size_t len);
/* Before the first read of a netCDF file whose readers take what they find in the kernel's pages:
 * it is given in whole blocks only, see layout.block. */
void file_guard(struct file *);
/* Are there pages that the next handle must not find, see view_islands? */
bool file_islands(const struct file *);
/* Reads of this file go on as if it had been opened later. False: not now, see stream_move. */
bool file_move(struct file *, struct array_move *);
/* Kernel pages of this file are still good: nothing changed, and last looked at within the TTL. */
bool file_keep_cache(struct file *);
/* clock_now() of when a change of what it shows was noticed last, before it was opened; 0: never.
 */
int64_t file_noticed(const struct file *);

/* user.NAME (name without "user."). value appended to ret. ZMAP_ABSENT: no such attribute. */
int mount_getxattr(struct mount *, const struct entry *, const char *name, struct buf *ret);
/* "user.a\0user.b\0…" */
int mount_listxattr(struct mount *, const struct entry *, struct buf *ret);

/* --- names and attributes of a writable mount; -EROFS of any other --- */

/* A new file, which is this mount's own until its content is taken in. */
int mount_create(struct mount *, const char *path, struct entry *ret);
int mount_unlink(struct mount *, const char *path);
int mount_mkdir(struct mount *, const char *path, struct entry *ret);
int mount_rmdir(struct mount *, const char *path);
/* flags: of renameat2(2). */
int mount_rename(struct mount *, const char *from, const char *to, unsigned flags);
/* name without "user."; flags: of setxattr(2). */
int mount_setxattr(
	struct mount *, const struct entry *, const char *name, struct span value, int flags);
int mount_removexattr(struct mount *, const struct entry *, const char *name);

/* All that was written below a directory, as file_settle. */
int mount_settle(struct mount *, const char *dir, enum settle_why, struct cancel *);
/* At the end: the same of the whole mount. Appends a line for each file of which something could
 * not be stored, those of mount_lost among them. said may be NULL. */
int mount_drain(struct mount *, struct buf *said);
/* 0, or -EIO: there are files whose content was refused when they were closed, or that were never
 * taken in; a line each. The store is not asked. */
int mount_lost(struct mount *, struct buf *said);
/* Is there anything that was written and is not in the store? */
bool mount_unstored(struct mount *);

/* To be called now and then: a program that reads an open file from the kernel's pages alone (a
 * mapping) is not shown older ones than the TTL allows either. */
void mount_age(struct mount *);
/* Looks at the store again; says what changed. */
int mount_refresh(struct mount *, struct buf *ret);
/* Told, from a thread of its own with no lock held, what of a path is stale. Once; then once with
 * NULL: nothing is told any more. */
typedef stale_fn mount_stale_fn;
void mount_on_stale(struct mount *, mount_stale_fn *, void *arg);
/* Waits until what is stale by now has been told, or until then by clock_now. */
void mount_flush_stale(struct mount *, int64_t until);
/* Told, once each, what a user would otherwise look for in vain: names that are left out, clashes,
 * attributes that do not fit. For the log. Any thread, no lock held. */
typedef void mount_note_fn(void *arg, const char *line);
void mount_on_note(struct mount *, mount_note_fn *, void *arg);
/* More lines for .zarrfs/stats, from the part that speaks to the kernel. */
typedef int mount_stats_fn(void *arg, struct buf *ret);
void mount_on_stats(struct mount *, mount_stats_fn *, void *arg);
