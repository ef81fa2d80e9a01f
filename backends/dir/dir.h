/* What the parts of the directory store share: dir.c (reading and listing), dir_find.c, dir_base.c,
 * dir_held.c; of writing dir_put.c, dir_lock.c, dir_write.c. */
#pragma once

#include "store/zmap.h"

#include <sys/stat.h>

/* ns: longer than a write of one chunk, and than a tick of file times. */
enum { DIR_SETTLE = 10000000 };

/* How long (ns) after that time of a file a change could still have the same time: file systems
 * that keep whole seconds (ext3, Lustre), or every other one (FAT), cut off the rest. */
static inline int64_t
dir_tick(struct timespec t)
{
	return (t.tv_nsec ? 0 : t.tv_sec % 2 ? SECOND : 2 * SECOND) + DIR_SETTLE;
}

/* Not an outcome that leaves the store: what was begun met a change, and is to be done again. */
enum { DIR_AGAIN = 1000 };

/* How names begin that are no keys: files not yet complete. */
#define DIR_TEMPORARY ".zarrfs-put-"
enum { DIR_TEMPORARY_SIZE = sizeof DIR_TEMPORARY + 16 };

enum { DIR_HELD = 128 };

struct dir_held {
	char *key; /* NULL: none here */
	char version[ZMAP_VERSION];
	int fd;
	struct stat stat;
	int64_t used; /* clock_now() */
};

enum { DIR_OWN = 64 };

/* A file that was put here lately. */
struct dir_own {
	dev_t dev;
	ino_t ino;
	struct timespec mtime, ctime;
};

enum { DIR_FOLDERS = 1 << 10 };

/* A directory below the root, by its path. */
struct dir_folder {
	uint64_t path; /* a hash of it; 0: none */
	dev_t dev;
	ino_t ino;
	int64_t since; /* clock_wall() of when it was found to be another one, and a little; 0:
			  never */
};

enum { DIR_BASES = 16 };

/* A folder that chunks are read from (base.c). */
struct dir_base {
	char *path;     /* below the root; "": the root */
	int fd;         /* O_PATH */
	int64_t placed; /* when it came to be at its path, as zmap_stat says it of a file; never
			   0 */
	int64_t looked, used; /* clock_now() */
	unsigned doubts;      /* dir->doubts before it was looked at */
	unsigned users;       /* threads that open a file in it */
	bool dropped;         /* it is not found any more */
};

enum { DIR_UNSYNCED = 64 };

struct dir_unsynced {
	int fd;
	dev_t dev;
	ino_t ino;
	bool again; /* since the last sync began it has got a name, or lost one */
};

struct dir {
	struct zmap z;
	char *path;
	bool follow;
	bool has_openat2; /* seccomp of container engines may forbid it */
	atomic_bool
		is_local;   /* on a disk or in memory here: to look at a name costs no round trip */
	atomic_bool unique; /* no file gets the inode's number of one that is gone */
	int root;           /* stays the same number: another root is put under it by dup3 */
	atomic_llong next_look;
	_Atomic(dev_t) dev;
	_Atomic(ino_t) ino;
	atomic_bool gone;
	atomic_llong moved; /* clock_wall() until which another directory was the store, and a
			       little; 0: none was */
	pthread_mutex_t held_lock; /* guards held and own */
	struct dir_held held[DIR_HELD];
	struct dir_own own[DIR_OWN];
	unsigned next_own;
	pthread_mutex_t folder_lock; /* guards folder and base, but for what is constant in one */
	struct dir_folder folder[DIR_FOLDERS]; /* by hash; of two with one place the last */
	struct dir_base *base[DIR_BASES];
	atomic_uint doubts; /* how often metadata were read, so that folders are looked at again */

	pthread_mutex_t syncing;       /* held by dir_sync, also while it waits for the disk */
	pthread_mutex_t unsynced_lock; /* guards all below */
	struct dir_unsynced
		unsynced[DIR_UNSYNCED]; /* directories with names that a crash may undo */
	unsigned unsynced_count;
	bool closing;
	pthread_cond_t closed;

	bool sweeping; /* there is a sweeper, to be joined */
	pthread_t sweeper;
};

/* For CLEAN(dir_clean_fd) int fd = -1. */
void dir_clean_fd(int *fd);
/* Takes what is at its path for the store. 0, or -errno without a text. */
int dir_take_root(struct dir *);
/* 0; DIR_AGAIN: another directory is the store now; -EIO: there is none. */
int dir_look_now(struct dir *);
/* 0, or -EIO: the store is not where it was opened. Cheap; looks every 100 ms. */
int dir_look(struct dir *);
/* A descriptor, or -errno without a text (dir_refused gives it one). Never of anything outside the
 * store. */
int dir_open_below(struct dir *, const char *path, int flags);
/* The outcome of an open that failed with errno value e: ZMAP_ABSENT, DIR_AGAIN, -errno. */
int dir_refused(struct dir *, const char *path, int e);
/* A regular file. 0, ZMAP_ABSENT, DIR_AGAIN, -errno. What *ret_stat says may be of a file that was
 * there a moment before this one. */
int dir_open_file(struct dir *, const char *key, int flags, int *ret, struct stat *ret_stat);
/* A regular file, opened in its folder. A descriptor, or -errno without a text: then dir_open_file
 * tells. What *ret_stat says is of the file that is at the key's path: another one, where another
 * folder has come to be there. */
int dir_open_in(struct dir *, int folder, const char *key, struct stat *ret_stat);
void dir_say_stat(const struct stat *, struct zmap_stat *ret);

static inline int64_t
dir_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The folder of a chunk, to be left again. NULL: files are found by their paths. */
struct dir_base *dir_base_take(struct dir *, const char *key);
void dir_base_leave(struct dir *, struct dir_base *);
/* Metadata were read, or a folder was found to be another: chunks that are read from now on are of
 * a folder that is looked at after that. */
void dir_base_doubt(struct dir *);
void dir_base_end(struct dir *);
/* When the file, or one of the directories and links that lead to it, came to be there; or the
 * whole store: it may be an old one. base: what is known of its folder; 0: it is looked at. */
int64_t dir_placed(struct dir *, const char *key, const struct stat *file, int64_t base);

/* Takes over the descriptor of a file that was just read in part, unless there is one of that
 * version. */
void dir_hold(struct dir *, const char *key, int *fd, const struct stat *);
/* A descriptor of that version of a file, and what it looked like when it was read; -1: none is
 * held. */
int dir_held(struct dir *, const char *key, const char *version, struct stat *ret);
void dir_let_go(struct dir *);
/* The file was put here, and had all its bytes before it had its name. (Not where its time is a
 * whole second, in which other programs may replace it by one of the same number and time. Where
 * numbers are unique it is noted all the same: what changes it in place in that second, and keeps
 * its size, is not seen.) */
void dir_note_own(struct dir *, const struct stat *);
/* Is the file one that was put here, with the times that it had then? Only the last ones are
 * known. */
bool dir_is_own(struct dir *, const struct stat *);

/* The lock under which a key is compared and replaced; closing the descriptor lets it go. 0; *ret
 * -1: there is nothing to lock. */
int dir_lock(struct dir *, const char *key, int64_t deadline, struct cancel *, int *ret);
/* Describes an array or group, alone or with others of its name. */
bool dir_is_metadata(const char *key);
/* At once, of an open file. 0 or -errno without a text. */
int dir_lock_fd(int fd, int64_t start, int64_t len);
/* The kind of file system that dev is, if the text of /proc/self/mountinfo says that its locks end
 * at this machine though others have it, too; else NULL. */
const char *dir_local_locks(const char *mountinfo, dev_t dev);

/* A new file in that directory. Its descriptor, or -errno. */
int dir_temporary(int up, char ret_name[DIR_TEMPORARY_SIZE]);
/* Removes what killed writers left there more than a day ago. */
void dir_sweep_one(int fd);
/* Of an open directory. 0, also where the file system cannot sync a directory at all, or -errno
 * without a text. */
int dir_sync_fd(int fd);
/* This directory has names that a crash may undo: the next sync sees to it, or this call. Its
 * descriptor may be taken over, and is -1 then. 0 or -errno. */
int dir_unsynced(struct dir *, int *fd);
int dir_sync(struct zmap *);
int dir_try_writing(struct zmap *, struct buf *said);
/* What was begun by try_writing and put comes to its end. */
void dir_write_end(struct dir *);
int dir_put(struct zmap *, const struct zmap_put *, struct zmap_stat *ret);
int dir_del(struct zmap *, const struct zmap_del *);
