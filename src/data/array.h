/* The numbers of one variable, read as one run of elements in C order, through the chunk cache.
 *
 * struct data is what all arrays of a mount share: memory budget, cache, worker threads. struct
 * array is one variable in one layout (shape, type, chunks, codecs): immutable, counted, safe from
 * every thread; it knows nothing of metadata documents and asks its owner through struct
 * array_hooks when it must be sure that they still hold. struct stream is one reader's place in it:
 * one for an open file, by which prefetching knows what comes next. */
#pragma once

#include "data/reply.h"
#include "model/model.h"

struct data_options {
	size_t memory;    /* bytes: the cap on all caches; 0: a quarter of RAM or of the cgroup, at
			     most 4 GiB */
	unsigned workers; /* threads that decode; 0: one for each processor that this process may
			     use */
	int64_t ttl; /* ns after which a cached chunk is compared with the store again; INT64_MAX:
			never */
	int64_t timeout;   /* ns for one operation */
	bool missing_403;  /* a refused chunk is an absent one */
	bool remote;       /* each request to the store costs a round trip */
	bool delete_empty; /* chunks that become all fill are deleted, where that can be done on
			      condition */
};

struct data;
int data_new(const struct data_options *, struct data **ret);
struct data *data_free(struct data *);
/* Every changed chunk of all arrays is durable in the store, or the first error that prevents
 * it. */
int data_flush(struct data *, struct cancel *);
/* zmap_sync of the store that the arrays lie in. That what was put is lost (-EIO) is an error of
 * all arrays, which array_flush tells then, too. */
int data_sync(struct data *, struct zmap *);
/* What could not be stored is stored once more; what fails again is dropped, with a line each
 * appended to said (may be NULL). After that arrays can be written again; a store that cannot make
 * them durable is an error of all arrays, which said names, until the next retry. */
int data_retry(struct data *, struct buf *said);
/* Lines "zarrfs_NAME VALUE\n" in Prometheus' text form: chunk loads, decodes, hits, bytes,
 * budget. */
int data_stats(struct data *, struct buf *ret);
/* Cached chunks are compared with the store before they are used again. */
void data_expire(struct data *);
/* Bytes that models hold under the same budget, from now on; what the tables of the store take
 * comes on top, up to half the budget. */
void data_set_other(struct data *, struct zmap *, size_t bytes);
/* The same of what of the kernel's pages is remembered. */
void data_set_shown(struct data *, size_t bytes);
size_t data_memory(struct data *); /* the cap in force */
/* Bytes of changed chunks of which none is whole yet that can wait at once: beyond some more they
 * are stored as they are, and read again. */
size_t data_most_begun(struct data *);

struct array_hooks {
	void *arg;
	/* Do the metadata that this array was opened with still hold, looked at now? 0; -EIO with
	 * the reason (array gone, rewritten, store gone). */
	int (*check)(void *arg);
	/* When they were last known to hold, clock_wall() clock; 0: they do not, or never. Where
	 * that is before `wanted`, not before a look at them that is under way has ended. */
	int64_t (*seen)(void *arg, int64_t wanted);
	/* Are they known to hold no longer, as far as they were looked at? Called with the lock of
	 * what waits to be stored held. NULL: they are not. */
	bool (*outdated)(void *arg);
	/* How many indices of the leading dimension an object of that mtime (ns) may have been
	 * stored for, as far as is known: what it holds behind them a broken writer left; behind:
	 * the same of chunks in it that begin behind them. UINT64_MAX: all are good. NULL: that is
	 * not to be asked. */
	uint64_t (*rows)(void *arg, int64_t mtime, bool behind);
	/* What tells the version of the array's metadata that was last seen from others. NULL: that
	 * is not to be asked. */
	uint64_t (*document)(void *arg);
	/* What a broken writer left in the object of this key, all of it behind the end, cannot be
	 * read and is replaced; with the thread's err_text. May be NULL. */
	void (*left)(void *arg, const char *key);
	/* Do the metadata, as last seen, have the chunks stored otherwise than this array? */
	bool (*other)(void *arg);
	/* A chunk was found to have changed at `mtime` (ns): stale pages must go. Called on a
	 * worker or a reader's thread, no lock held. */
	void (*changed)(void *arg, int64_t mtime);
	/* The array is gone: arg is not used again. May be NULL. */
	void (*release)(void *arg);
};

struct array;
/* key: the array's key prefix without '/' at its end ("" for a root array). meta is copied. width:
 * bytes an element of a variable-length type is padded to, 0 otherwise. -ENOTSUP and so on as
 * codec_chain_open says. A width of 0 where one is needed: for measuring only. */
int array_open(struct data *, struct zmap *, const char *key, const struct array_meta *meta,
	uint32_t width, struct array **ret);
/* Once, before the first read. Any member may be NULL. */
void array_set_hooks(struct array *, const struct array_hooks *);
struct array *array_unref(struct array *);
struct array *array_ref(struct array *);
uint64_t array_bytes(const struct array *); /* count × element size */
const struct dtype *array_dtype(const struct array *);
/* Bytes that an element of a variable-length type is padded to; 0: it has another type. */
uint32_t array_width(const struct array *);
/* What measuring an array may cost. */
struct array_measuring {
	uint64_t max_chunks;
	size_t max_stored; /* bytes of a chunk in the store */
	int64_t deadline;  /* clock_now() clock */
};
/* The width that a variable-length array needs: its longest element, all chunks looked at, those of
 * a remote store many at a time. ZMAP_ABSENT: there are more chunks, or one is larger; -ETIMEDOUT:
 * not in time. */
int array_measure(struct data *, struct zmap *, const char *key, const struct array_meta *,
	const struct array_measuring *, uint32_t *ret);

/* A reader is about to read from the beginning: where that takes a store's answer, the first chunk
 * is asked for now. False: too much is under way. */
bool array_expect(struct array *);
/* Does a page of the file hold elements of so many chunks of shards in a far store that it is worth
 * to ask for a few bytes alone? */
bool array_is_spread(const struct array *);

struct stream;
int stream_new(struct array *, struct stream **ret); /* takes a reference */
struct stream *stream_free(struct stream *);

/* Reads of a stream are to go on as if the reader had begun later. */
struct array_move {
	int64_t since, to; /* array_want.since so far, and from now on */
	int64_t noticed;   /* when it was noticed that a chunk changed, for which this is done; 0:
			      whenever */
	int64_t looked; /* when the reader asked last for the attributes before a read(): `to` while
			   it does; 0: never */
	bool paused; /* set: the reader has stopped in file order, and may go on where it stopped */
};
/* False: not now, a reader that has gone on in file order since before that is in the midst of a
 * chunk that has changed. */
bool stream_move(struct stream *, struct array_move *);

/* One read: bytes [off, off + len) of the elements, in the stored byte order. Adds to ret; past the
 * end is the caller's bug. deadline: clock_now() clock. -EIO: the chunk cannot be had, or not in
 * time; -EACCES; -EINTR: cancelled. */
struct array_want {
	uint64_t off;
	size_t len;
	int64_t deadline;
	struct cancel *cancel;
	int64_t dropped; /* … of when the kernel was told last to drop what it has of the file, and
			    asks for some of it again; 0: never */
	int64_t looked; /* … of when it asked last for the attributes, as it does before a read() of
			   what was dropped; 0: never */
	bool under;     /* of a write: only rows of chunks that hold nothing but fill become that */
	const void *shown; /* of a mapped page that is written: what it showed; NULL: what such a
			      reader sees */
	int64_t since; /* clock_now() of when the reader began: it sees one version of each chunk
			  from then on; 0: since now */
};
int stream_read(struct stream *, const struct array_want *, struct reply *ret);

/* Elements of one chunk at even distances: rows of columns, all sizes in bytes. None of the counts
 * is 0, and all lie in the chunk. */
struct sieve {
	uint64_t chunk; /* its number in the grid, see data/grid.h */
	uint64_t first; /* byte of the chunk */
	uint64_t rows, row_step, columns, column_step;
	size_t bytes;              /* of a column, which may be several elements */
	uint8_t *to;               /* where the first one goes … */
	size_t to_column, to_step; /* … the next one, and the next row */
};
/* Fetches n of them, the next chunks while one is waited for; each chunk is of one version. want:
 * offset and length do not count. What was written and is not stored yet is not seen. */
int stream_sift(struct stream *, const struct array_want *, const struct sieve *, size_t n);

/* Writing.
 *
 * What is written waits in memory (data/staging.h) until it is pushed out, or flushed: every reader
 * of the array in this mount sees it at once, whatever its struct array. Errors of storing stick to
 * the array: array_write and array_flush fail with them until data_retry. */

/* 0; -EROFS: why the array cannot be written; -EIO: the library that it would be encoded by is not
 * there. */
int array_writable(const struct array *);
/* May its leading dimension get another length than before? 0; code, with the reason: what is
 * stored would be other elements. */
int array_resizable(const struct array *, uint64_t before, uint64_t rows, int code);
/* Appends the names of codecs that do not always give back what was written, "quantize,bitround";
 * nothing: all do. */
int array_lossy(const struct array *, struct buf *ret);
/* bytes (where->len of them) become bytes [off, off + len) of the elements, in the stored byte
 * order. Waits while too much is not stored. -ERANGE: an element cannot be stored, and nothing was
 * written; -EINTR, -ETIMEDOUT and others: some of it may have been. */
int array_write(struct array *, const struct array_want *where, const void *bytes);
/* What was written is stored as soon as may be: array_flush, which says what came of it, waits for
 * many arrays at once where each was begun. */
void array_flush_begin(struct array *);
/* All that was written to the array before is durable in the store, or the error that prevents
 * it. */
int array_flush(struct array *, struct cancel *);
/* The array that was written to was still there when that had been stored in a remote store, which
 * is looked at unless that was done since; else -EIO, and where chunks are stored otherwise now,
 * those that were put and are still there go. failed: not all could be stored, and the store is not
 * asked once more. */
int array_confirm(struct array *, bool failed);
/* Is anything not stored yet? */
bool array_is_staged(const struct array *);
/* Is any of these bytes? */
bool array_touched(const struct array *, uint64_t off, size_t len);
bool data_is_staged(const struct data *);
/* What a broken writer left behind the end in the object with that element becomes fill when it is
 * stored next; if by then other writers have put rows there, or this mount has, nothing happens. */
int array_clear_left(struct array *, uint64_t element);
/* Rows that were put and that the metadata do not count never will be: a broken writer left
 * them. */
void array_give_up(struct array *);
/* All errors that come before the next data_retry have this number, which is odd: they stick until
 * then, so that a writer that is told one of them knows that nothing it has written since the last
 * retry is safe. */
uint64_t data_errors(const struct data *);
/* A handle that writes arrays begins: returns an even number, up to which it need not hear of
 * errors that a program was told. And ends. */
uint64_t data_begin_writer(struct data *);
void data_end_writer(struct data *);
/* A program is told that storing the array failed, so that it knows of all errors up to `upto`.
 * code: it is told that, which may be another error; 0: it is one of storing. heard: its handle's
 * number, of data_begin_writer; NULL: it has none, and no writer knows of what it is told. */
void array_know(struct array *, int code, uint64_t upto, _Atomic(uint64_t) *heard);
/* All that was not stored is by now, or has been dropped. 0; why something of the array is gone
 * that the handle does not know of, or that no program was told: from then on it knows. wrote: what
 * was put and was not durable may have been written by it. heard: as above. */
int array_hear(struct array *, bool wrote, _Atomic(uint64_t) *heard);
/* Has anything been put that metadata did not count when it was last looked at? */
bool data_has_rows(const struct data *);
bool array_has_rows(const struct array *);
/* Rows of the array up to that one that were put, and that are to be counted, or are counted, by
 * metadata that are this version by now: another program may have made the array shorter since, and
 * as long again. Where that is not the version that they were put under, or were last found under,
 * they are looked at: 0; -EIO names one that is gone, of those that were not fill; where codecs may
 * make fill of what was written, one whose object is gone. The array is the caller's alone. */
int array_find_rows(struct array *, uint64_t rows, uint64_t document, struct cancel *);
/* Metadata that this mount has stored count rows up to that one, which were looked for before. */
void array_rows_counted(const struct array *, uint64_t rows);
/* What was found to be gone is looked for no longer. */
void data_give_up_rows(struct data *);
/* Appends the leading indices, of [first, end) of objects, that objects may be stored at, as
 * uint64_t, in order. Where these are many they are listed; what array_may_not_list says: the store
 * does not list so many, and more than `most` objects may be there. */
int array_find_objects(struct array *, uint64_t first, uint64_t end, uint64_t most, struct cancel *,
	struct buf *ret);
bool array_may_not_list(int code);
/* The leading dimension, which has `before` indices at most, is about to have `rows`: what is
 * stored behind them is looked at, and nothing of the array is stored until array_trim, or until
 * *ret is freed. */
struct array_behind;
int array_look_behind(
	struct array *, uint64_t rows, uint64_t before, struct cancel *, struct array_behind **ret);
struct array_behind *array_behind_free(struct array_behind *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct array_behind, array_behind_free)
/* Now the metadata, and this array, have those alone: what was written behind them, and what was
 * stored there then and is still there, goes, and the tail of the last chunks is about to become
 * fill; what others have stored since stays. -errno: some of it may be left. */
int array_trim(struct array *, struct array_behind *, struct cancel *);
/* Waits until what array_trim has begun is durable. Called when all arrays that get shorter
 * together are trimmed: a thread that makes them shorter in another order waits for them, too. */
int array_store_trimmed(struct array_behind *, struct cancel *);
/* One of these failed, or metadata could not be stored: where array_trim has dropped what waited to
 * be stored, or rows behind them are not to be counted, the array's writers hear of it, and the
 * error sticks. shorter: its metadata have those rows alone. */
void array_tell_dropped(struct array_behind *, bool shorter, const struct err *why);
/* Another writer has made the array shorter than what is written here, and this is how long it is
 * now: what waits of rows that are left is stored by it. What waits behind them goes, and so does
 * what was put behind them too late for the other to delete it, or is not counted yet; then the
 * error that says so sticks to the array. The store is not waited for, but by array_flush. */
void array_cut(struct array *);
/* The array is removed: what was written to it is forgotten, and the error that sticks. -EINTR. */
int array_forget(struct array *, struct cancel *);
/* What missing chunks hold is about to become something else: from now on none of the array is
 * deleted for being all fill (delete_empty), and none is on its way to be. -EINTR, -ENOMEM. */
int array_keep_empty(struct array *, struct cancel *);
/* A new array, which nothing leads to yet: before the first write. From now on its objects are put
 * where nothing is, or what this put there. exclusive: if another writer's is there, storing fails
 * with -EEXIST; else that is replaced, and array_undo leaves it. */
int array_begin(struct array *, bool exclusive);
/* Is it such a one still? */
bool array_is_new(const struct array *);
/* Metadata lead to it: it is as any other. */
void array_made(struct array *);
/* It is not to be, and what was written to it is forgotten: what was put of it goes. How many
 * objects that was, and how many stay, as they are no longer what was put, or could not be removed.
 * No metadata may lead to it. alone: no other writer is about it. */
void array_undo(struct array *, bool alone, size_t *ret_put, size_t *ret_left);
/* Has it met objects of another writer? */
bool array_met(const struct array *);
/* The error that sticks, with its text; 0: none does. */
int array_stuck(const struct array *);
