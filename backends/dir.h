/* What the parts of the directory store share: dir.c (reading and listing), dir_find.c, dir_held.c, dir_put.c (writing). */
#pragma once

#include "store/zmap.h"

#include <sys/stat.h>

/* ns: longer than a write of one chunk, and than a tick of file times. */
enum { DIR_SETTLE = 10000000 };

/* Not an outcome that leaves the store: what was begun met a change, and is to be done again. */
enum { DIR_AGAIN = 1000 };

/* How names begin that are no keys: files not yet complete. */
#define DIR_TEMPORARY ".zarrfs-put-"

enum { DIR_HELD = 128 };

struct dir_held {
	char *key; /* NULL: none here */
	char version[ZMAP_VERSION];
	int fd;
	struct stat stat;
	int64_t used; /* when_now() */
};

struct dir {
	struct zmap z;
	char *path;
	bool follow;
	bool has_openat2; /* seccomp of container engines may forbid it */
	atomic_bool near; /* on a disk or in memory here: to look at a name costs no round trip */
	int root;         /* stays the same number: another root is put under it by dup3 */
	atomic_llong next_look;
	_Atomic(dev_t) dev;
	_Atomic(ino_t) ino;
	atomic_bool gone;
	atomic_llong
		moved; /* when_wall() until which another directory was the store, and a little; 0: none was */
	pthread_mutex_t held_lock; /* guards held */
	struct dir_held held[DIR_HELD];
};

/* For CLEAN(dir_clean_fd) int fd = -1. */
void dir_clean_fd(int *fd);
/* Takes what is at its path for the store. 0, or -errno without a text. */
int dir_take_root(struct dir *);
/* 0; DIR_AGAIN: another directory is the store now; -EIO: there is none. */
int dir_look_now(struct dir *);
/* 0, or -EIO: the store is not where it was opened. Cheap; looks every 100 ms. */
int dir_look(struct dir *);
/* A descriptor, or -errno without a text (dir_refused gives it one). Never of anything outside the store. */
int dir_open_below(struct dir *, const char *path, int flags);
/* The outcome of an open that failed with errno value e: ZMAP_ABSENT, DIR_AGAIN, -errno. */
int dir_refused(struct dir *, const char *path, int e);
/* A regular file. 0, ZMAP_ABSENT, DIR_AGAIN, -errno. What *ret_stat says may be of a file that was there a moment before this one. */
int dir_open_file(struct dir *, const char *key, int flags, int *ret, struct stat *ret_stat);
void dir_say_stat(const struct stat *, struct zmap_stat *ret);

/* Takes over the descriptor of a file that was just read in part, unless there is one of that version. */
void dir_hold(struct dir *, const char *key, int *fd, const struct stat *);
/* A descriptor of that version of a file, and what it looked like when it was read; -1: none is held. */
int dir_held(struct dir *, const char *key, const char *version, struct stat *ret);
void dir_let_go(struct dir *);

int dir_put(struct zmap *, const char *key, struct span, const char *if_version);
int dir_del(struct zmap *, const char *key);
