/* Flat files of a writable mount that are open: what all handles of one share. How long it is by
 * now, also where the metadata do not know that yet; by which array it is written; what failed. One
 * for each variable, counted; any thread. */
#pragma once

#include "base/map.h"
#include "base/err.h"
#include "view/mount.h"

struct cancel;
struct flats;

struct flat {
	struct map_entry by_path;
	unsigned users; /* these two under the table's lock */
	unsigned writers;
	struct mount *mount;
	char *path; /* in the mount */
	/* These change under the lock where it becomes another array, and are read without it. */
	_Atomic uint32_t width;
	_Atomic uint64_t item, row; /* bytes of an element; of one index of the leading dimension;
				       0: it has none, or none of any length */
	atomic_bool grows;
	atomic_uint generation; /* changes with layout, size and cut, but for what a write inside of
				   the file does */
	atomic_bool is_stuck;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t free;
	bool growing, storing, following; /* a thread does: one at a time */
	struct node *node;                /* as the metadata were last */
	struct layout *layout; /* of one span: its elements, with those rows that the metadata do
				  not know */
	struct layout *former; /* which was written to and became another array; or NULL */
	unsigned epoch;        /* grows where it became another array: what was opened before is no
				  longer good … */
	unsigned lost;     /* … and what was written before this one may not have been stored */
	unsigned cuts;     /* times that another writer, and not this mount, made it shorter */
	uint64_t size;     /* bytes of elements that there are; the last row may be incomplete */
	uint64_t padded;   /* bytes with all of that row, which metadata count since it was stored:
			      the rest of it is fill, and its writer may go on at `size`; or 0 */
	uint64_t cut;      /* truncated to nothing: bytes that were written since, from the start;
			      UINT64_MAX: not truncated */
	unsigned cutters;  /* open handles by which it was */
	bool changed;      /* since it was last stored */
	bool unshared;     /* not all that share its rows may know of them: storing that failed */
	struct err stuck;  /* why it cannot be written any more; code 0: it can */
	uint64_t failed;   /* that storing it failed is part of that: data_errors then; or 0 */
	uint64_t given_up; /* what handles that do not know of errors up to that one lost … */
	struct err why;    /* … and why */
	unsigned puts;     /* times that it was written to */
};

int flats_new(struct flats **ret);
struct flats *flats_free(struct flats *);

/* That of an array node, made when it is first asked for; l: the file as the node says. */
int flats_get(struct mount *, const struct node *, struct layout *l, struct flat **ret);
/* One user less. */
void flat_put(struct flat *);
/* The one of a file that is open. NULL: none is. */
struct flat *flats_find(struct mount *, const char *path);
/* All that are there, held; ends with NULL. The caller puts them and frees the list. -ENOMEM. */
int flats_all(struct mount *, struct flat ***ret);
/* A handle is open for writing, or no longer. Returns how many others have. */
unsigned flat_count_writer(struct flat *, int by);

/* *ret: the width of elements; an open file of the variable keeps its own, where that is larger. */
void flats_width(struct mount *, const struct node *, uint32_t *ret);
/* The size that the file of a node shows, where that is not what the node says. */
void flats_size(struct mount *, const struct node *, uint64_t *ret);
/* Are the elements of both at the same places of the file, and stored alike? */
bool flat_is_same(const struct array_meta *, const struct array_meta *);
/* Looks at the array in the store: the file follows what is there, as far as it may. 0, also where
 * there is none; -errno. */
int flat_look_again(struct flat *);
/* Was the array made shorter than in that state, so that what failed can go on with what is left?
 * by_others: it was another writer, not this mount. */
struct flat_state;
bool flat_was_cut(struct flat *, const struct flat_state *, bool *ret_by_others);
/* A node was replaced: what is open of it follows, as far as it may. now NULL: it is gone. */
void flats_changed(struct mount *, const char *node_path, const struct node *now);

/* What a reader or writer has to know, at one moment. */
struct flat_state {
	struct layout *layout; /* a reference */
	uint64_t size;         /* bytes that there are */
	uint64_t shown;        /* bytes that the file shows */
	uint64_t rows;         /* of the metadata */
	unsigned generation, epoch, cuts;
};
void flat_now(struct flat *, struct flat_state *ret);
void flat_state_done(struct flat_state *);

/* A reference to the node as the metadata were last. */
struct node *flat_node(struct flat *);
/* It is laid out so; *l becomes what is to be freed. Lock held. */
void flat_swap_layout(struct flat *, struct layout **l);

/* It fails with the thread's err_text from now on, unless it does already. Returns code. */
int flat_stick(struct flat *, int code);
int flat_is_stuck(struct flat *); /* 0, or that with its text */

/* One at a time: the thread that grows the file, the one that stores it, and the one that lets it
 * follow a node. */
void flat_take(struct flat *, bool *turn);
void flat_give(struct flat *, bool *turn);

/* Of a flat file's layout, which has one span. */
struct variable *flat_variable(const struct layout *);

/* --- flat_put.c --- */

/* No longer truncated. */
void flat_show_all(struct flat *);

/* Bytes of the file become these. The file grows, if it has to and may. -EIO: it is no longer of
 * that epoch, also where this found that out. */
int flat_put_bytes(
	struct flat *, unsigned epoch, uint64_t off, struct span, const struct array_want *how);
/* Where data that are appended go: behind what the dimension has in the store now, unless this
 * mount has written there already. Where that is not what the kernel thinks, its pages have them in
 * the wrong place. *off: that, and stays for a file that was truncated. */
int flat_find_end(struct flat *, uint64_t *off);
/* It has this size at least, by whole rows that are fill where it had not. -EIO likewise. */
int flat_lengthen(struct flat *, unsigned epoch, uint64_t size, struct cancel *);
/* The rest of the last row becomes fill, unless metadata count it; the file stays as long as it
 * is. */
int flat_fill_row(struct flat *, struct cancel *);
/* The file ends with a whole row: the rest of the last one is fill. */
int flat_complete(struct flat *);

/* --- flat_tail.c --- */

/* One element, as it is stored; `to` is zero before. */
void flat_fill_value(const struct array_meta *, size_t item, uint8_t *to);
/* Bytes [from, to) behind the end become fill, but for what another writer is storing there; so
 * does, in objects that change by that, all behind the end. ret: what it was written through,
 * unless there was nothing to do; may be NULL. With the turn to grow. */
int flat_clear(struct flat *, uint64_t from, uint64_t to, struct cancel *, struct layout **ret);
/* Before it has so many rows: behind the last one that there is, and that was written here, chunks
 * hold fill. */
int flat_clear_tail(struct flat *, uint64_t rows, struct cancel *);

/* --- flat_store.c; its hooks in kind_flat --- */

/* All that was written is in the store, and the metadata know it; the kernel knows of all that
 * shows it. */
int flat_store(struct flat *, enum settle_why, struct cancel *);
/* array_know and array_hear of its array. */
void flat_know(struct flat *, int code, uint64_t upto, _Atomic(uint64_t) *heard);
int flat_hear(struct flat *, bool wrote, _Atomic(uint64_t) *heard);
/* What could not be stored is given up: the file is as long as the store says, and may be written
 * again. */
void flat_give_up(struct flat *);

/* The size becomes this, by whole rows. -EIO likewise. */
int flat_set_size(struct flat *, unsigned epoch, uint64_t size, struct cancel *);
int flat_begin(struct mount *);
void flat_end(struct mount *);
int flat_settle_all(
	struct mount *, const char *dir, enum settle_why, struct cancel *, struct buf *said);
int flat_retry(struct mount *, struct buf *said);
int flat_error(struct mount *, const char *path, struct buf *ret);
bool flat_unstored(struct mount *);
