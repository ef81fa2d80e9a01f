/* What the kernel's node ids stand for: (path, layout version). Two layouts of one path are two
 * inodes, so that their pages never meet. An inode lives as long as the kernel remembers its id or
 * a reference to it is held here. All calls are safe from every thread. */
#pragma once

#include "base/map.h"
#include "view/mount.h"

/* What stat shows of an entry; of an inode, as last seen. */
struct inode_seen {
	uint64_t size;
	int64_t mtime;
	mode_t mode;
};

/* Bytes for the kernel's pages that were asked for, and refused. */
struct inode_refused {
	uint64_t from, to;
	unsigned known; /* what had been said of the inode by then */
	bool quiet;     /* and all of it had reached the kernel */
};

struct page_coherence;

struct inode {
	struct map_entry by_path;
	uint64_t lookups;        /* what the kernel still holds */
	unsigned refs;           /* what threads here hold */
	_Atomic int64_t changed; /* clock_now() of when the kernel was to be told of another size or
				    time; 0: never */
	_Atomic int64_t resized; /* the same, of a size that it did not know */
	atomic_uint
		answering; /* answers about its attributes that are on their way to the kernel */
	atomic_uint told,
		heard; /* how often the kernel was told to ask for attributes again: begun, ended */
	atomic_uint answered;     /* how often it was told attributes, or knows a size by a write */
	_Atomic uint64_t reached; /* the end of what programs wrote here, which the kernel knows */
	_Atomic uint64_t known;   /* the size that it was told last, or knows by what was written */
	atomic_bool fresh;        /* resized is of the answer by which the kernel came to know it */
	struct inode_seen seen;   /* all up to here change, with this one: under the table's lock */
	struct inode_refused refused; /* last, see inodes_takes_end */
	bool retired;                 /* the next lookup of the path finds another inode */
	bool beside;                  /* constant: others of the path were there when it was made */
	bool dead;                    /* nor may this one be opened any more, or looked at */
	_Atomic(struct page_coherence *) pages; /* NULL: it was never opened */
	_Atomic(struct shown *) shown;          /* NULL: it was never opened to be written */
	atomic_bool islands; /* it has pages that the next handle must not find, see file_islands */
	atomic_uint paused;  /* handles that are to be asked about before each read(), see
				open_file_resume */
	atomic_bool owed;    /* the kernel is to drop its pages, as soon as no read is under way */
	atomic_uint
		resizing; /* requests that change its size: until they are answered the kernel
			     writes no page back, and one that is to be dropped waits for that */
	uint64_t version, ino;
	int64_t born; /* clock_now() */
	bool special; /* .zarrfs and .store */
	char path[];
};

enum { INODE_ROOT = 1 }; /* the kernel's id of the root */

struct inodes;
/* root: the entry of "". */
int inodes_new(const struct entry *root, struct inodes **ret);
struct inodes *inodes_free(struct inodes *);
/* The kernel is told of this entry once more: its id, with what the entry says as last seen. */
int inodes_look_up(struct inodes *, const struct entry *, uint64_t *ret);
void inodes_forget(struct inodes *, uint64_t id, uint64_t lookups);
/* Holds the inode of an id that the kernel knows. */
struct inode *inodes_get(struct inodes *, uint64_t id);
/* The same, for a caller that holds it already. */
struct inode *inodes_at(struct inodes *, uint64_t id);
void inodes_put(struct inodes *, struct inode *);
uint64_t inodes_id(struct inodes *, const struct inode *);
/* The kernel knows, by what a program wrote, that the file is so long. */
void inode_reach(struct inode *, uint64_t end);
/* The kernel asks about this inode: the answer by which it came to know it has reached it. */
void inodes_arrived(struct inodes *, struct inode *);
/* If the entry is what this inode stands for: now seen so. Else false. */
bool inodes_see(struct inodes *, struct inode *, const struct entry *);
/* Does the kernel take the end of the file from the answer to a read of these bytes for its pages?
 * Linux does not if it was told anything of the inode after it asked: it keeps the size that it
 * knew, and shows zeros. If that may be, the read is to be refused. Linux asks for the page once
 * more, after that answer. The caller counts as answering. */
bool inodes_takes_end(struct inodes *, struct inode *, uint64_t off, uint64_t len);
struct inode_seen inodes_seen(struct inodes *, struct inode *);
/* Lookups find another inode from now on, though the layout is the same. false: that was so
 * before. */
bool inodes_retire(struct inodes *, struct inode *);
/* The same, and it stands for nothing any more: inodes_see is false of it. */
void inodes_end(struct inodes *, struct inode *);
bool inodes_ended(struct inodes *, struct inode *);
/* Holds all inodes of a path, at most max of them. */
size_t inodes_of_path(struct inodes *, const char *path, struct inode **ret, size_t max);
/* Any layout's ino of a path; 0: not known. */
uint64_t inodes_ino(struct inodes *, const char *path);
size_t inodes_count(struct inodes *);
