/* The inside of struct staging: staging.c (the table), staging_write.c (writing), staging_push.c
 * (what is stored when, by which thread, and what came of it), staging_flush.c (callers that wait
 * for it), staging_store.c (one object), staging_shard.c (one that is a shard), staging_left.c and
 * staging_noted.c (what lies behind the end), staging_there.c (whether that is still there),
 * staging_placed.c (what was put lately), staging_pad.c (edges), staging_behind.c and
 * staging_found.c (what is stored behind an end that is to come), staging_trim.c (shrinking),
 * staging_cut.c (that another writer does it), staging_told.c (which writers know of an error) and
 * cover.c (reading). No other file includes it. */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/set.h"
#include "data/layer.h"
#include "data/staging.h"

enum {
	SPACE_ENDS = 8, /* writers in file order that one array may have */
};

static const size_t NO_FILL = SIZE_MAX;

/* An array with something staged, or an error. */
struct staged_space {
	uint64_t number;
	struct map_entry by_number;
	struct array *array; /* a reference: of those that wrote, the one with the largest leading
				extent */
	size_t objects;
	unsigned users;    /* that hold it */
	unsigned held;     /* threads that make the array shorter: nothing of it is stored now */
	bool keeps;        /* no object of it goes for being all fill */
	struct err error;  /* why something could not be stored; code 0: all could */
	bool outdated;     /* because the array was another by then */
	uint64_t error_at; /* data_errors of the last one */
	struct err lost;   /* why some of it is gone, which a writer may not know; code 0: nothing
			      is … */
	uint64_t lost_at;  /* … data_errors of that */
	uint64_t told;     /* a program was told of errors up to there */
	struct staged_end {
		uint64_t at, run; /* where a write ended, and how much was written in order up to
				     there */
	} end[SPACE_ENDS];        /* of the last writes, the newest first */
};

struct staged_chunk {
	struct staged_object *object;
	struct map_entry by_number;
	struct staged_chunk *next; /* of the same object */
	uint64_t number;
	struct layer *now, *storing; /* NULL: nothing was written since the other was taken; it is
					not being stored */
	size_t fill_from, storing_fill; /* of the base, bytes from here on count as fill … */
	uint64_t fill_of;               /* … if staged_print says that it is this one */
	bool whole;                     /* all of `now` is written */
};

enum staged_state { STAGED_DIRTY, STAGED_QUEUED, STAGED_STORING, STAGED_FAILED };

struct staged_object {
	struct staged_space *space;
	uint64_t number;
	struct map_entry by_number;
	struct staged_chunk *chunk;
	size_t chunks, whole; /* how many; how many of them are wholly written */
	size_t cost;          /* bytes of all its layers */
	enum staged_state state;
	struct staged_list *list; /* in which it is */
	struct staged_object *newer, *older;
	uint64_t since, storing_since; /* clock of the first write that is not stored; 0: none */
	uint64_t written;              /* clock of the last write */
	bool again;                    /* a caller wants what is written meanwhile stored at once */
	size_t leaving;                /* of its cost, what is counted in that of the staging */
	bool last_try;                 /* what fails now is dropped */
	size_t borrowed;               /* memory that storing it needs */
	uint64_t rows;                 /* of the array that was to store it when that began */
	struct staged_object *go;      /* the next one that begins now */
	struct task task;
	struct staging *staging;
};

struct staged_list {
	struct staged_object *oldest, *newest;
};

struct staging_counts {
	atomic_ullong stores, merges, conflicts, failed, deleted;
};

/* An object that was put. */
struct placed {
	uint64_t space, chunk;
	int64_t when; /* clock_wall() */
	char version[ZMAP_VERSION];
};

enum { WITNESSES = 8 };

/* An element that was put, and that is not fill: with its row it is gone. */
struct witness {
	uint64_t row, chunk;
	size_t element; /* of the chunk */
};

/* An object with rows that the metadata do not count. */
struct noted {
	uint64_t site, object;
	uint64_t rows;     /* up to the end of the last one */
	uint64_t coming;   /* the same of what is being put, which may fail */
	uint64_t document; /* the hook's: before the first of them was put, or when all were found
			      last */
	uint64_t chunk;    /* one that is in it */
	struct witness witness[WITNESSES]; /* in order, of such rows: the first, the last, and some
					      between them; one place is spare */
	unsigned witnesses;
	bool merged;   /* since some of these were put it was stored upon another writer's version,
			  or there was none */
	uint64_t gone; /* the first row of which one was not found; UINT64_MAX: all were */
	char version[ZMAP_VERSION]; /* that was put last */
};

struct staging {
	struct data *data;
	struct zmap *zmap; /* the store that arrays lie in; NULL: nothing was written yet */
	size_t most, push; /* bytes beyond which writers wait, and from which on objects are pushed
			      out */
	atomic_size_t chunks; /* there are */
	struct staging_counts counts;
	pthread_mutex_t syncing; /* held until what the store says of that is noted; before lock */
	pthread_mutex_t lock;    /* guards all below */
	pthread_cond_t moved;    /* something was stored, or failed */
	struct map staged_chunks, objects; /* by number */
	struct map spaces;                 /* by number */
	struct staged_list dirty, whole, queue, storing,
		failed;  /* whole: dirty ones that are wholly written */
	size_t bytes;    /* of all layers */
	size_t leaving;  /* of them, those of objects that are queued or being stored */
	size_t told;     /* of them, what the cache knows of */
	size_t borrowed; /* memory that stores under way need besides */
	unsigned under_way;
	unsigned held;         /* threads that make any array shorter */
	uint64_t clock, ended; /* of writes; stores that have ended */
	struct placed *placed; /* since the arrays were last looked at */
	size_t n_placed, room_placed;
	struct late *late;    /* of them, those that are being deleted */
	struct noted **noted; /* objects with rows that are not counted yet */
	size_t n_noted;
	struct set noted_by; /* the same, borrowed */
	unsigned lost;       /* how often it was found that what was put is not durable */
	struct err error;    /* what was put is not durable: sticks to all arrays; code 0: it is */
	struct err gone;     /* the last one of these by which something was lost, and that does not
				stick any more; code 0: there was none … */
	uint64_t gone_at, gone_told; /* … as in staged_space */
	atomic_ullong retries;       /* there were, by now or before */
	uint64_t forgiven;           /* clock of the last one */
	unsigned writers;            /* handles that may have to hear of what is lost */
	bool retrying;
	struct buf *said; /* of a retry: what is dropped is named there; or NULL */
};

/* All of these want the lock held. */
struct staged_space *staging_space(const struct staging *, uint64_t number);
/* The chunk; NULL: nothing of it is staged. */
struct staged_chunk *staging_chunk(const struct staging *, uint64_t space, uint64_t number);
/* The same, made where there is none; its space is there. NULL: no memory. */
struct staged_chunk *staging_make_chunk(struct staging *, struct array *, uint64_t number);
void staged_list_add(struct staged_list *, struct staged_object *);
void staged_list_remove(struct staged_object *);
/* What a layer of the object costs has changed. */
void staged_charge(struct staging *, struct staged_object *, size_t before, size_t now);
struct layer *layer_unref(struct layer *);
/* Chunks without layers go, with the last one the object, and with the last object the space where
 * no error sticks to it. Then the space's array is to be let go of without the lock; else NULL. */
struct array *staged_tidy(struct staging *, struct staged_object *);
/* The array's space, made where there is none, which stays until it is released. *ret_was: an array
 * that it no longer needs, or NULL; as what releasing returns it is to be let go of without the
 * lock. -EIO: the array is no longer as it was, and the space has no other; -ENOMEM. */
int staging_hold_space(
	struct staging *, struct array *, struct staged_space **ret, struct array **ret_was);
/* The same where there is one; else NULL. */
struct staged_space *staging_hold_known(struct staging *, const struct array *);
struct array *staging_release_space(struct staging *, struct staged_space *); /* NULL allowed */
/* It goes where nothing is known of it. Its array, as that; or NULL. */
struct array *staging_tidy_space(struct staging *, struct staged_space *);
/* The error that sticks to a space (NULL: it has none of its own), as this thread's; 0: none. */
int staged_error(const struct staging *, const struct staged_space *);
/* Has an object that is dirty or failed stored as soon as may be. */
void staging_queue(struct staging *, struct staged_object *);
/* Begins what is queued, and what must go because there is too much. The lock is open for a
 * moment. */
void staging_pump(struct staging *);
/* Is something being stored, or to be as soon as may be? */
bool staging_moves(const struct staging *);
/* Until something moves, or for a moment; the lock is open meanwhile. -EINTR; -EIO: not by then. */
int staging_wait(struct staging *, int64_t deadline, struct cancel *);

/* What was written to the chunk from byte `from` on is forgotten. Was anything? The lock is held.
 */
bool staging_forget(struct staging *, struct staged_chunk *, size_t from);
/* An error sticks to the space from now on. The lock is held. */
void staged_fail(struct staging *, struct staged_space *, const struct err *why);
/* The same where none does, and what is gone by it is noted. The lock is held. */
void staged_gone(struct staging *, struct staged_space *, const struct err *why);
/* Something that was written behind the end of the space's array is lost, which is an error of it,
 * unless it has one. The lock is held. */
void staged_lose(struct staged_space *);
/* Something of the space is gone by its last error: array_hear tells those that do not know of
 * that, whatever is retried meanwhile. The lock is held. */
void staged_note_lost(struct staged_space *, const struct err *why);
/* Does the space have a shorter version of this array, which another writer has made? */
bool staged_is_cut(const struct staged_space *, const struct array *);
/* Bytes of the object behind the end of its space's array are lost, but for those that are being
 * stored. */
void staged_cut(struct staging *, struct staged_object *);
/* The array's objects behind its end that were put here since it was last looked at, or with rows
 * that are not counted, go, if they are what was put; of those that hold its end, too, what is
 * behind it is marked as fill. Rows that are lost by that are an error of the space. A task does
 * it, once the lock is open and pool_fill was called. The lock is held. *ret_was: as
 * staging_hold_space has it. */
void placed_cut(struct staging *, struct array *, struct array **ret_was);
/* Until that is done, of one space or (0) of all. The lock is open meanwhile. */
int staging_wait_removed(struct staging *, uint64_t space, struct cancel *);

/* Waits until no object of the space is being stored, with the lock open. */
int staging_wait_stored(struct staging *, uint64_t space, struct cancel *);

/* What tells an object of a key from all others. Never 0. */
uint64_t staged_print(const struct zmap_stat *);

/* The same objects of another length: all that hold an index of the leading dimension from one on
 * were looked at while it was still one of the array. */
struct behind_object {
	uint64_t object; /* array_object's */
	uint64_t chunk;  /* one that is in it */
	int64_t mtime;
	char version[ZMAP_VERSION];
};

struct array_behind {
	struct array *array;        /* a reference: as it was */
	struct staged_space *space; /* NULL: not yet */
	bool holds;                 /* nothing of the space is stored now */
	bool dropped;               /* what was written here, and not counted or not stored */
	uint64_t rows, before;
	uint64_t noted;     /* up to the end of those that this mount has put, counted or not */
	struct buf rows_at; /* leading indices of objects that may be there: uint64_t */
	struct cancel *cancel;
	pthread_mutex_t lock;        /* guards the rest while several threads look */
	struct behind_object *found; /* by object */
	size_t n;
	struct err err;
};

/* Rows of a stored object, in chunks. */
static inline uint64_t
behind_step(const struct array *a)
{
	return a->shard ? a->in_shard[0] : 1;
}
/* The first row of the object with the chunk. */
static inline uint64_t
behind_first_row(const struct array *a, uint64_t chunk)
{
	const uint64_t step = behind_step(a);
	uint64_t index[RANK_MAX];
	grid_index(&a->grid, chunk, index);
	return index[0] / step * step * a->grid.chunk[0];
}
/* Chunks of the array that share one index of the leading dimension. */
static inline uint64_t
behind_in_row(const struct array *a)
{
	uint64_t n = 1;
	for (unsigned d = 1; d < a->grid.rank; d++)
		n *= a->grid.count[d];
	return n;
}
/* The object with the chunk is noted; any thread. -ENOMEM. When all are, they are sorted. */
int behind_add(struct array_behind *, uint64_t chunk, const struct zmap_stat *);
void behind_sort(struct array_behind *);
/* The chunks that hold the last row, and in a shard those behind them: what is stored of them
 * behind the end is about to become fill. grown: another writer has made rows of them again, and
 * what waits there stays. The lock is held. */
int behind_mark(struct staging *, struct array_behind *, bool grown);
/* Calls fn for each i < n; several threads do. 0, or the first error. */
int behind_each(struct array_behind *, size_t n, int (*fn)(struct array_behind *, size_t i));
/* The object with the chunk, as it was found. NULL: there was none. */
const struct behind_object *behind_find(const struct array_behind *, uint64_t chunk);
/* Objects of the array may be stored again. The lock is held. */
void behind_release(struct array_behind *);

/* The cache is told how much memory is taken. No lock is held. */
void staging_tell(struct staging *);

/* Bytes of a chunk that may have been written, all of them being the whole chunk whatever the
 * leading extent is … */
size_t staged_needed(const struct array *, uint64_t chunk);
/* … and those within the array as it is. */
size_t staged_visible(const struct array *, uint64_t chunk);

/* Rows of the array's chunks. */
struct layer_rows staged_rows(const struct array *);
/* What a decoded chunk has beyond the array's edges, but for that of the leading dimension. */
void staged_fill_edges(const struct array *, uint64_t chunk, uint8_t *decoded);

/* One object on its way to the store. */
struct store {
	struct staging *staging;
	struct array *array;
	const struct staged_chunk *chunk; /* the first one of the object; of those that have nothing
					     to store nothing is known */
	struct object *cached;
	char key[ARRAY_KEY_MAX];
	bool based;            /* the base was read … */
	bool absent;           /* … and there is none */
	struct zmap_stat stat; /* of it */
	/* Indices of the leading dimension that count in it, in chunks that begin with one of them
	 * and in others. */
	uint64_t rows, rows_behind;
	struct buf base; /* its stored bytes */
	struct buf out;  /* what is to be put */
	bool nothing;    /* the store has that already, or it is all fill where there is nothing */
	bool empty;      /* all of it is fill, and goes … */
	bool keeps;      /* … unless the store cannot do that */
	char version[ZMAP_VERSION]; /* that the put left */
};

/* Takes rows back that were put behind the end that the array has by now. 0: there are none;
 * -errno: the object is to be stored once more without them. */
int staging_put_late(const struct store *);
/* Up to the last row that is put of what was written. 0: none is. */
uint64_t store_rows_put(const struct store *);
/* An object was put: array_confirm looks at its array after that. */
void staging_note_placed(const struct store *);
/* The object with this chunk and those behind it is put as they were frozen. 0 or -errno. */
int staged_store(struct staging *, struct array *, const struct staged_chunk *);
/* The stored object as it is now, if it was not asked for yet. 0 or -errno. */
int store_base(struct store *);
/* Of what is stored of a chunk, bytes from there on count as fill. */
size_t store_fill_from(const struct store *, const struct staged_chunk *);
/* Finds which rows of the base, just read, a broken writer left behind the end. */
int store_find_left(struct store *);
/* Has a broken writer left all of the object? */
bool store_is_left(const struct store *);
/* Tells that such an object cannot be read and is replaced, with the thread's err_text. */
void store_say_left(const struct store *);

/* Rows of the object that the metadata do not count are about to be put. -ENOMEM. */
int staging_note_rows(const struct store *);
/* Those rows were put; or the object was removed, for all of it is fill. */
void staging_rows_put(const struct store *);
/* The object with such rows; NULL: it has none. The lock is held. */
struct noted *staging_noted(struct staging *, uint64_t site, uint64_t object);
/* Has this mount put rows of the object that the metadata do not count? */
bool staging_has_noted(const struct store *);
/* Objects of the array with such rows behind its end, as if they were placed: how many. ret: room
 * for all that are noted. The lock is held. */
size_t staging_find_noted(const struct staging *, const struct array *, struct placed *ret);
/* Are some of such rows behind its end, and no fill? The lock is held. */
bool staging_loses_noted(const struct staging *, const struct array *);
/* Up to the end of such rows of the site; 0: there are none. The lock is held. */
uint64_t staging_noted_end(const struct staging *, uint64_t site);
/* Is that version of the object with the chunk one that this mount has put with such rows? */
bool staging_is_noted(struct array *, uint64_t chunk, const char *version);
/* Forgets the objects of which the metadata count all rows, and that were looked at since. */
void staging_rows_counted(const struct array *);
/* Forgets the objects of the site with no row behind `most`. The lock is held. */
void staging_forget_rows(struct staging *, uint64_t site, uint64_t most);
void staging_noted_free(struct staging *);
/* A changed chunk, decoded, with what was written laid over what is stored (NULL: nothing is). *ret
 * lies in own or in the layer. */
int store_merge(struct store *, const struct staged_chunk *, const struct span *stored,
	struct buf *own, struct span *ret);
/* Appends the chunk's stored bytes. Where its codecs cannot store the fill value, what is behind
 * the array's edges is something else. */
int store_encode(struct store *, const struct staged_chunk *, struct span decoded, struct buf *ret);
/* Does the chunk need no base, whatever the array's leading extent is? */
bool store_is_whole(const struct store *, const struct staged_chunk *);
/* Is all of the chunk fill, and is it to go then? */
bool store_goes(const struct store *, struct span decoded);
/* The bytes of an object that is a shard: out, or `nothing`, or `empty`. */
int store_shard(struct store *);
