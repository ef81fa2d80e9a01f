/* Chunk arithmetic for any rank: where the elements of a variable lie in the file (C order over its
 * shape) and in its chunks (C order over the chunk's shape, edge chunks padded: Zarr V2 spec,
 * "Chunks"). No memory, no I/O, nothing shared. */
#pragma once

#include "codec/codec.h"
#include "model/edges.h"

struct grid {
	unsigned rank; /* >= 1: a scalar is one element of one dimension */
	uint64_t shape[RANK_MAX], chunk[RANK_MAX],
		count[RANK_MAX];       /* elements; chunks along each dimension */
	uint64_t file_step[RANK_MAX];  /* bytes from one index to the next in the file */
	uint64_t chunk_step[RANK_MAX]; /* the same in a chunk */
	uint64_t item, bytes, chunk_bytes, chunks;
	unsigned whole; /* first dimension of the trailing ones that a chunk covers exactly; rank:
			   none */
	unsigned lead;  /* first dimension along which a chunk has more than one index; rank - 1 if
			   none */
	uint64_t row_bytes;   /* of a chunk: what one index of `lead` takes */
	uint64_t slab_chunks; /* chunks that the file goes through again for each index of `lead` */
	uint64_t run_bytes;   /* contiguous both in file and chunk */
	/* Chunks have lengths of their own, of which `chunk` is the longest; what follows from one
	 * length for all does not hold. NULL: they do not. Borrowed. */
	const struct edges *uneven;
};

/* -EOVERFLOW where sizes do not fit; -EINVAL for a chunk of length 0. */
int grid_init(
	struct grid *, unsigned rank, const uint64_t *shape, const uint64_t *chunk, uint64_t item);
/* After it: chunks begin there. NULL: nothing to do. */
int grid_set_edges(struct grid *, const struct edges *);

/* Elements [start, start + count) along each dimension. */
struct box {
	uint64_t start[RANK_MAX], count[RANK_MAX];
};

/* The largest box that begins at element `from` and holds what follows in the file, at most up to
 * `to`. Returns its elements. */
uint64_t grid_box(const struct grid *, uint64_t from, uint64_t to, struct box *ret);

/* The part of a box in one chunk. */
struct part {
	uint64_t index[RANK_MAX]; /* of the chunk */
	uint64_t number;          /* the same as one number */
	uint64_t count[RANK_MAX]; /* elements */
	uint64_t in_file;         /* byte of its first element in the file … */
	uint64_t in_chunk;        /* … and in the chunk */
	uint64_t last;            /* byte behind its last element in the chunk */
};

/* Walks the chunks of a box in file order. Start: grid_first; go on: grid_next returns false at the
 * end. */
void grid_first(const struct grid *, const struct box *, struct part *ret);
bool grid_next(const struct grid *, const struct box *, struct part *);

/* What one chunk has of a piece of the file, from the first byte in it to the last. */
struct hull {
	uint64_t number, in_chunk, last;
};

/* Of elements [from, to), which may be several boxes: of the first `most` chunks. Returns of how
 * many. */
size_t grid_hulls(const struct grid *, uint64_t from, uint64_t to, struct hull *ret, size_t most);

uint64_t grid_number(const struct grid *, const uint64_t *index);
void grid_index(const struct grid *, uint64_t number, uint64_t *ret_index);

/* The contiguous run that holds byte `at` of the file. */
struct run {
	uint64_t number, in_chunk, len; /* chunk; byte in it; bytes from `at` to the run's end */
};
void grid_run(const struct grid *, uint64_t at, struct run *ret);

/* One run of consecutive bytes and how it repeats, for copying a part: the innermost loop. */
struct rows {
	uint64_t bytes;                 /* of one run */
	uint64_t count;                 /* runs */
	uint64_t file_step, chunk_step; /* from run to run */
	uint64_t in_file, in_chunk;     /* of the first run */
};

struct rows_walk {
	struct rows rows;
	/* the outer loops */
	unsigned depth;
	uint64_t n[RANK_MAX], i[RANK_MAX], file_step[RANK_MAX], chunk_step[RANK_MAX];
};

void grid_rows(const struct grid *, const struct part *, struct rows_walk *ret);
bool grid_rows_next(struct rows_walk *);
