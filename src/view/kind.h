/* Kinds of files that can be written, and an open file from inside. Only src/view includes this.
 *
 * In a writable mount (mount_options.rw) a kind answers for some files: it is asked first when one
 * is opened, also to be read, and from then on for all that is done to that open file; and it may
 * know names that are no node's. Everything else of a mount, and all of a read-only one, has no
 * kind. Each hook but open, read and close may be NULL: then that cannot be done (-EACCES, or
 * ZMAP_ABSENT where the next kind is asked). Any thread, several at once, no lock held; nothing is
 * called with one either. */
#pragma once

#include "view/mount.h"

#include <fcntl.h>

struct file;
struct raw;
struct view_reader;

struct file_kind {
	const char *name;
	/* Once, while the mount is not used: makes and frees what the kind has in struct mount. May
	 * be NULL. */
	int (*begin)(struct mount *);
	void (*end)(struct mount *);

	/* --- names --- */

	/* Before the view is asked. 0: this kind answers for the path now, and sets ret->by (a new
	 * file, an image that lives); ZMAP_ABSENT: it does not; -ENOENT: it hides the name. */
	int (*lookup)(struct mount *, const char *path, struct entry *ret);
	/* Is that the name of a node's file for which lookup says -ENOENT? */
	bool (*hides)(struct mount *, const char *path);
	/* The array or group of that path was removed: no file of it is hidden any more. */
	void (*gone)(struct mount *, const char *path);
	/* Names in a directory that only this kind knows. */
	int (*list)(struct mount *, const char *dir, mount_dir_fn *fn, void *arg);
	/* May files of that view be written? For their modes. */
	bool (*takes)(const struct view_ops *);
	/* The path names nothing. */
	int (*create)(struct mount *, const char *path, struct entry *ret);
	/* ZMAP_ABSENT: it is none of this kind's, the next is asked. */
	int (*unlink)(struct mount *, const struct entry *);
	/* to: what is at the new path now; to->path alone where nothing is. ZMAP_ABSENT
	 * likewise. */
	int (*rename)(
		struct mount *, const struct entry *from, const struct entry *to, unsigned flags);

	/* --- open files --- */

	/* flags as open(2)'s; f->path, f->mount and f->flags are set. Takes the file: sets own,
	 * size, keep and direct. ZMAP_ABSENT: it is not of this kind; then f is as it was. What
	 * file_view_open left in f need not be undone. */
	int (*open)(struct file *f, const struct entry *, int flags);
	int (*read)(struct file *, const struct array_want *, struct reply *);
	int (*write)(struct file *, uint64_t off, struct span, const struct array_want *how,
		unsigned flags);
	int (*truncate)(struct file *, uint64_t size, enum file_resize, struct cancel *);
	/* How long it is now, where that is not what its name says. */
	uint64_t (*size)(struct file *);
	int (*settle)(struct file *, enum settle_why, int64_t deadline, struct cancel *);
	/* The last of an open file; not told whether other handles are open. Cannot fail. */
	void (*close)(struct file *);

	/* --- the whole mount --- */

	/* This file is about to be read: what others that show the same have written is settled, if
	 * that can be. Asked only while mount.waiting says that there is any. */
	void (*other_read)(struct file *);
	/* Of all files in or below the directory; SETTLE_RELEASE: at the end, where said is
	 * mount_drain's. */
	int (*settle_all)(struct mount *, const char *dir, enum settle_why, struct cancel *,
		struct buf *said);
	/* .zarrfs/refresh was read: what failed is tried once more, and forgotten if it fails
	 * again; a line each. */
	int (*retry)(struct mount *, struct buf *said);
	/* Why the file cannot be written any more, for user.zarrfs.error. ZMAP_ABSENT: it can. */
	int (*error)(struct mount *, const char *path, struct buf *ret);
	bool (*unstored)(struct mount *);
	/* As mount_lost. */
	int (*lost)(struct mount *, struct buf *said);
};

extern const struct file_kind kind_flat, kind_image, kind_scratch;
extern const struct file_kind
	*const kind_table[]; /* in the order in which they are asked; NULL last */

/* One of the three answers its reads, where no kind does. */
struct file {
	struct mount *mount;
	struct file *next,
		**link; /* among the open files whose layouts can change; link NULL: it is not */
	char *path;
	const struct file_kind *kind; /* NULL: what is read is all that can be done */
	void *own;                    /* the kind's */
	int flags;                    /* of open(2) */
	struct view_reader *reader;   /* a view of a variable */
	struct layout *layout;        /* the reader's */
	struct raw *raw;              /* a key's own bytes */
	struct buf text;              /* made at open */
	uint64_t size;
	bool keep, direct, spread;
	int64_t noticed;      /* see file_noticed */
	bool counted;         /* facts know that it is open */
	atomic_llong late_at; /* clock_now() of the last read that took all of its time; 0: none */
	atomic_ullong late_off, late_end;
};

/* Was it opened to be written? */
static inline bool
file_writes(const struct file *f)
{
	return (f->flags & O_ACCMODE) != O_RDONLY;
}

/* For kinds: what file_open does for the file of a view, and reading what that laid out. */
int file_view_open(struct file *, const struct entry *);
int file_view_read(struct file *, const struct array_want *, struct reply *);

/* Can the store of a writable mount be written? 0, or the reason. */
int kinds_may_write(struct mount *);
int kinds_begin(struct mount *);
void kinds_end(struct mount *);
/* As struct file_kind's, of all kinds; of a read-only mount at once. */
int kinds_lookup(struct mount *, const char *path, struct entry *ret);
bool kinds_hide(struct mount *, const char *path);
void kinds_gone(struct mount *, const char *path);
int kinds_list(struct mount *, const char *dir, mount_dir_fn *fn, void *arg);
bool kinds_take(struct mount *, const struct view_ops *);
int kinds_open(struct file *, const struct entry *, int flags);
void kinds_other_read(struct file *);
int kinds_retry(struct mount *, struct buf *said);
int kinds_error(struct mount *, const char *path, struct buf *ret);

/* After elements or attributes of a node were written, as they are now in this mount: the kernel's
 * pages and attributes of the files that show them, but for the file `except` (or NULL), are stale.
 * Then kinds_told. Never from a write or a read, whose pages are locked, and never with kinds_told
 * from what changes a directory's names. */
void kinds_wrote(struct mount *, const char *node_path, const char *except);
/* Waits until the kernel has been told of all that was stale before. In a rename, for which the
 * kernel holds the directory, names in it are stale once that was answered: so a moment at most. */
void kinds_told(struct mount *, enum settle_why);

/* Up to which errors a handle for writing knows, see array_hear. A close may be that of a duplicate
 * which another program was started with: what it is told the handle hears again. */
struct file_known {
	_Atomic(uint64_t) told;  /* by a call that only its program makes */
	_Atomic(uint64_t) close; /* by a close: counts when it is released */
};
/* It is settled: which errors it knows of before, and by then. */
uint64_t file_known_before(const struct file_known *, enum settle_why);
void file_known_now(struct file_known *, enum settle_why, uint64_t upto);
