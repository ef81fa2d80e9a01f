/* How a reader goes through a file, and what it will need next.
 *
 * A scan watches the offsets of one open file: in file order (requests may overtake each other),
 * along a constant stride, or at random. For file order it decides how much of each chunk is
 * cached: a slab (all chunks that share one index of the leading dimension) is gone through once
 * for each row, so either its chunks fit decoded, or only as many rows of each as fit (a
 * pass), and each pass decodes again. Not locked: its stream does that. */
#pragma once

#include "data/array_impl.h"

enum scan_mode { SCAN_RANDOM, SCAN_ORDER, SCAN_STRIDE };

struct scan {
	enum scan_mode mode;
	bool counted;                  /* in data->scans */
	uint64_t start, high, covered; /* the run in file order: first byte, end, bytes asked for */
	uint64_t last[3];              /* offsets of the last requests, newest first */
	unsigned nlast;
	int64_t stride;
	uint64_t point; /* of a stride: where the last request's point lies at least */
	uint64_t tail;  /* of a run in file order: the chunk of which only the end is wanted, as
			   the run begins there; UINT64_MAX: none */
	uint64_t rows;  /* of a chunk in one extent, in file order; 0: no plan yet */
	bool keep_encoded;
	uint64_t plan_share,
		plan_encoded; /* memory and stored size of a chunk that the plan was made for */
	uint64_t ahead;       /* file offset up to which loads were begun … */
	uint64_t ahead_from;  /* … of this pass since here */
	uint64_t done;        /* file offset up to which extents were made cold */
};

/* Does a request at `off` go on where a run in file order ends, or nearly there: requests overtake
 * each other? No run: UINT64_MAX. */
bool scan_near(uint64_t front, uint64_t off);
/* Would a request at `off` be the first of a run? */
bool scan_begins(const struct scan *, uint64_t off);
/* A request was made. */
void scan_note(struct scan *, struct array *, uint64_t off, size_t len);
/* The reader goes away. */
void scan_end(struct scan *, struct array *);

/* Of a stride: where the n-th request from now on will begin; below 0 it is huge. */
uint64_t scan_point(const struct scan *, unsigned n);

/* The extent to load for bytes [at, to) of a chunk. */
struct extent_id scan_extent(
	const struct scan *, const struct array *, uint64_t chunk, uint64_t at, uint64_t to);

/* What to load instead when a chunk is read at random again and again: all of it, or a good
 * deal. */
void scan_larger(const struct scan *, const struct array *, struct cache_request *);

/* Are the stored bytes of chunks to be cached too, because other extents of them will be wanted? */
enum keep scan_keeps(const struct scan *, const struct array *, const struct extent_id *);

/* What follows in file order from offset `at`: chunks first … first + n - 1, each with the extent
 * that holds byte in_chunk, up to file offset `end`; last: no later part of the file needs these
 * extents again (whole: nor any other extent of these chunks). */
struct prefetch_step {
	uint64_t end, first, n, in_chunk;
	bool last, whole;
};
void scan_step(const struct scan *, const struct grid *, uint64_t at, struct prefetch_step *ret);
/* Where the pass that reads `at` begins, and where the next one does. */
uint64_t scan_pass(const struct scan *, const struct grid *, uint64_t at);
uint64_t scan_next_pass(const struct scan *, const struct grid *, uint64_t at);
/* Where the last row of the pass that reads `at` begins. */
uint64_t scan_last_row(const struct scan *, const struct grid *, uint64_t at);
/* Bytes of the file to look ahead. */
uint64_t scan_window(const struct scan *, const struct array *);
/* Whether a plan depends on the stored size of chunks, and none is known. */
bool scan_wants_size(const struct array *);
/* Decides rows and keep_encoded from the memory there is for one scan; stays with what it decided
 * as long as that changes little. */
void scan_plan(struct scan *, struct array *);
