/* The parts of the pcodec decoder. A stream (pcodec's "standalone format") is chunks; a chunk is
 * metadata and one page of numbers, which lie in batches. Each number is split into one or two
 * latents, unsigned integers: of each latent variable a batch has symbols (tANS) that choose bins,
 * then offsets within them. Deltas may have been taken of the latents.
 *
 *   pcodec.c        the codec: chunks and pages
 *   pcodec_meta.c   what a chunk says beforehand (docs/format.md of pcodec, "Chunk Metadata")
 *   pcodec_ans.c    bits → latents ("Page")
 *   pcodec_delta.c  deltas undone ("Delta Encodings")
 *   pcodec_join.c   latents → numbers ("Modes")
 *
 * All arithmetic on latents wraps in their own width. The functions keep no state of their own; a
 * struct pcodec_chunk is one thread's. Codes are 0, -ENOMEM, or -EIO for what no valid stream has;
 * the text names the field. */
#pragma once

#include "codecs/pcodec_bits.h"

enum {
	PCODEC_BATCH = 256,
	PCODEC_ANS_LOG_MAX = 14,
	PCODEC_ORDER_MAX = 7,  /* of consecutive deltas */
	PCODEC_WEIGHTS = 32,   /* of a convolution, at most */
	PCODEC_FORMAT_MAX = 4, /* the newest "format version" there is */
};

enum pcodec_class { PCODEC_UINT, PCODEC_INT, PCODEC_FLOAT };

/* A number type, by its byte in the stream. */
struct pcodec_type {
	uint8_t byte;
	enum pcodec_class class;
	unsigned bits;
	const char *name;
};

enum pcodec_mode {
	PCODEC_CLASSIC,
	PCODEC_INT_MULT,
	PCODEC_FLOAT_MULT,
	PCODEC_FLOAT_QUANT,
	PCODEC_DICT
};
enum pcodec_delta { PCODEC_NO_DELTA, PCODEC_CONSECUTIVE, PCODEC_LOOKBACK, PCODEC_CONV };

/* A state of the tANS machine: the symbol, and how to go on: to base + as many bits as the mask
 * has. */
struct pcodec_node {
	uint16_t base, mask, bin;
	uint16_t bits;
};

struct pcodec_bin {
	uint64_t lower, mask; /* mask: of the offset */
	uint64_t bits;
};

/* As many latents as a batch has, each in its variable's width. */
union pcodec_latents {
	uint8_t u8[PCODEC_BATCH];
	uint16_t u16[PCODEC_BATCH];
	uint32_t u32[PCODEC_BATCH];
	uint64_t u64[PCODEC_BATCH];
};

/* One latent variable. */
struct pcodec_variable {
	const char *name;
	unsigned bits;            /* of a latent */
	enum pcodec_delta delta;  /* what was done to this one */
	uint32_t states;          /* latents that a page begins with */
	unsigned log;             /* of the number of nodes */
	uint32_t bins;            /* as the stream says; 0 is like one bin without offsets */
	unsigned most;            /* offset bits of any bin */
	struct pcodec_bin *bin;   /* scratch */
	struct pcodec_node *node; /* behind them */
	/* of the page */
	uint32_t ans[4];
	uint64_t recent[PCODEC_WEIGHTS +
			PCODEC_BATCH]; /* consecutive: moments; convolution: what came before */
	void *history;                 /* lookback: scratch, latents */
	size_t first, len, cap; /* of history: the next one that is wanted, how many there are, for
				   how many there is room */
	bool moved;             /* the page's first ones are no longer there */
	union pcodec_latents latent; /* of the batch */
};

enum { PCODEC_OF_DELTA, PCODEC_PRIMARY, PCODEC_SECONDARY, PCODEC_VARIABLES };

struct pcodec_chunk {
	const struct pcodec_type *type;
	uint32_t count; /* numbers */
	enum pcodec_mode mode;
	uint64_t base;       /* of a mult mode */
	unsigned quant;      /* bits that float quantization leaves */
	const uint8_t *dict; /* in the stream */
	uint32_t entries;    /* of dict */
	enum pcodec_delta delta;
	bool delta_too;  /* the secondary variable has deltas, too */
	uint32_t states; /* of a variable with deltas */
	unsigned window_log;
	unsigned shift; /* of a convolution; also the next two */
	int64_t bias;
	int32_t weight[PCODEC_WEIGHTS];
	struct pcodec_variable variable[PCODEC_VARIABLES]; /* those with bits > 0 exist */
};

/* pcodec_meta.c: everything from the mode to the bins, for numbers of c->type in this format
 * version. */
int pcodec_read_meta(struct pcodec_bits *, unsigned format, struct pcodec_chunk *);

/* pcodec_ans.c */
/* Bins of a variable of which name, bits, delta and states are known; memory for them is scratch
 * number `scratch`. */
int pcodec_read_bins(struct pcodec_bits *, unsigned scratch, struct pcodec_variable *);
/* The states that a page of c->count numbers begins with. */
int pcodec_begin_page(struct pcodec_bits *, struct pcodec_chunk *);
/* n latents (0 … PCODEC_BATCH) as they are stored. */
int pcodec_take(struct pcodec_bits *, struct pcodec_variable *, unsigned n);

/* pcodec_delta.c: makes of the n stored latents of a batch the `count` latents of its numbers. */
int pcodec_undo(struct pcodec_chunk *, struct pcodec_variable *, unsigned n, unsigned count);

/* pcodec_join.c: n numbers in the machine's byte order, from the latents of both variables. */
int pcodec_join(const struct pcodec_chunk *, unsigned n, void *out);
/* Can the chunk's base be that of its mode? */
int pcodec_check_base(const struct pcodec_chunk *);
