/* A mounted store: paths ↔ what stands behind them. Everything a user can see of a mount goes through here, with or
 * without a kernel: fuse/ and `--ls`, `--cat` are two callers of the same names and bytes. Safe from every thread.
 *
 * Paths are relative to the mount, without '/' at either end; "" is the root. */
#pragma once

#include "model/model.h"
#include "view/stale.h"
#include "view/view.h"

#include <sys/types.h>

enum endian { ENDIAN_NATIVE, ENDIAN_LITTLE, ENDIAN_BIG, ENDIAN_STORED };

enum nc_form { NC_FORM_AUTO, NC_FORM_CDF1, NC_FORM_CDF2, NC_FORM_CDF5 };

struct mount_options {
	struct model_options model;
	struct data_options data;
	struct zmap_options zmap;
	enum endian endian;
	uint32_t strlen; /* width of variable-length elements nothing says more about: 128 */
	unsigned
		list; /* enum list_word, together; 0: flat and nc, and cdl where metadata are consolidated */
	enum nc_form nc; /* of netCDF files that are not called otherwise */
	const char *
		unlimited; /* the dimension that becomes the record dimension; NULL: none. Outlives the mount */
	uid_t uid;
	gid_t gid;
	mode_t umask;
	int (*config)(struct buf
			*ret); /* text of .zarrfs/config, by who parsed the options; may be NULL */
};

struct mount;
/* Opens the store and looks at its root: 0 only when it answered and is a store, or stands above stores. */
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
	uint64_t
		version; /* of the layout: changes when bytes may not be mixed with what was read before */
	uint64_t size;
	int64_t mtime;               /* ns */
	mode_t mode;                 /* with type bits, umask applied */
	bool unknown_length;         /* .zarrfs files: size is not known, direct I/O */
	struct node *node;           /* NULL for entries of .zarrfs */
	const struct view_ops *view; /* files of variables; else NULL */
	int special;                 /* enum of mount.c for .zarrfs and .store; 0: none */
};

void entry_free(struct entry *); /* what it holds, not itself */
/* A netCDF file: what a read() of it lacks, libnetcdf takes for zeros. */
bool entry_is_netcdf(const struct entry *);
/* 0, ZMAP_ABSENT, -errno. */
int mount_lookup(struct mount *, const char *path, struct entry *ret);
/* The same for a listing, which waits for no data: -EAGAIN where the size of the file depends on them, and they were not read yet. */
int mount_lookup_listed(struct mount *, const char *path, struct entry *ret);

/* Called for each entry, in an order that is the same at each call as long as nothing changed. type: DT_DIR, DT_REG, DT_UNKNOWN, and with
 * MOUNT_ASK_TO_SEE where a lookup asks the store about this entry alone. */
enum { MOUNT_ASK_TO_SEE = 0x80 };
typedef int mount_dir_fn(void *arg, const char *name, uint64_t ino, unsigned char type);
int mount_list(struct mount *, const char *path, mount_dir_fn *fn, void *arg);
/* Before `ls -l`: what lookups of all entries will need, in parallel. */
int mount_preload(struct mount *, const char *path);

struct file;
/* The entry as looked up; metadata are checked (TTL). -ESTALE: the entry's version is not the present one, look it up again. */
int file_open(struct mount *, const struct entry *, struct file **ret);
struct file *file_close(struct file *);
/* Past the end: a shorter or empty reply. */
int file_read(struct file *, const struct array_want *, struct reply *ret);
uint64_t file_size(struct file *);
/* Before the first read of a netCDF file whose readers take what they find in the kernel's pages: it is given in whole blocks only, see
 * layout.block. */
void file_guard(struct file *);
/* Are there pages that who opens the file next must not find, see view_islands? */
bool file_islands(const struct file *);
/* Reads of this file go on as if it had been opened later. False: not now, see stream_move. */
bool file_move(struct file *, const struct array_move *);
/* Kernel pages of this file are still good: nothing changed, and last looked at within the TTL. */
bool file_keep_cache(struct file *);

/* user.NAME (name without "user."). value appended to ret. ZMAP_ABSENT: no such attribute. */
int mount_getxattr(struct mount *, const struct entry *, const char *name, struct buf *ret);
/* "user.a\0user.b\0…" */
int mount_listxattr(struct mount *, const struct entry *, struct buf *ret);

/* To be called now and then: who reads an open file from the kernel's pages alone (a mapping) is not shown older ones than the TTL
 * allows either. */
void mount_age(struct mount *);
/* Looks at the store again; says what changed. */
int mount_refresh(struct mount *, struct buf *ret);
/* Told, from a thread of its own with no lock held, what of a path is stale. Once; then once with NULL: nobody is told any more. */
typedef stale_fn mount_stale_fn;
void mount_on_stale(struct mount *, mount_stale_fn *, void *arg);
/* Told, once each, what a user would otherwise look for in vain: names that are left out, clashes, attributes that do not fit.
 * For the log. Any thread, no lock held. */
typedef void mount_note_fn(void *arg, const char *line);
void mount_on_note(struct mount *, mount_note_fn *, void *arg);
/* More lines for .zarrfs/stats, from whoever speaks to the kernel. */
typedef int mount_stats_fn(void *arg, struct buf *ret);
void mount_on_stats(struct mount *, mount_stats_fn *, void *arg);
