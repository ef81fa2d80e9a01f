/* Codecs and chains of them.
 *
 * A chain turns stored bytes into a decoded chunk: the elements of one chunk in C order, packed, in
 * the byte order of its dtype. It is opened once for an array and immutable after; any number of
 * threads use it at once. Order of a chain is the order of encoding; decoding runs it backwards.
 *
 * Forms. What lies between two codecs is described by a struct form: elements of a dtype in a shape
 * (`dtype` set), or plain bytes (`dtype` NULL). A codec is told the form that encoding gives to it
 * and states the form that encoding makes of it. form.bytes is exact (`exact`) or a bound that no
 * valid chunk exceeds, so that every decode has a hard limit known beforehand: a decoder never
 * writes more than out->cap bytes, and a decoded size that is not what the form says is an error
 * (-EIO, "decoded chunk has … bytes instead of …").
 *
 * Three kinds: array → array (CODEC_ARRAY), array → bytes (CODEC_PACK), bytes → bytes
 * (CODEC_BYTES). In Zarr V2 any of them may stand anywhere ("compressor" or "filters"); a
 * CODEC_BYTES codec told an array form treats it as bytes.
 *
 * Input bytes are hostile: a codec checks every length and never reads or writes outside its
 * spans. */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "model/dtype.h"

enum { RANK_MAX = 32 };

struct form {
	const struct dtype *dtype; /* NULL: bytes. Borrowed from the array */
	unsigned rank;
	const uint64_t *shape; /* elements, C order; borrowed */
	uint64_t count;        /* elements: product of shape, or 0 for bytes */
	size_t bytes;
	bool exact;
	/* For codecs that need more than their neighbours tell them; valid during open only, NULL:
	 * unknown. */
	const uint64_t *extent;    /* shape of the whole array that the chunk is a piece of; of the
				      form given to codec_chain_open */
	const struct form *origin; /* that form, wherever in the chain the codec stands */
	const uint8_t *fill; /* one element, borrowed: what lies where nothing is stored. NULL:
				there is none that elements could have */
	unsigned nested;     /* of the origin: how many shards it lies in */
	const struct codec_ops *const *codecs; /* of the origin: those there are, NULL last */
	bool measuring; /* of the origin: it is not known yet how long its elements of variable
			   length are */
	/* The array's own order for vlen and object packers etc. is always C here: Zarr V2's order
	 * F is a transpose codec. */
};

enum codec_kind { CODEC_ARRAY, CODEC_PACK, CODEC_BYTES };

/* Where a partial decode takes its bytes from: an object in a store, or encoded bytes in memory. */
struct codec_src {
	uint64_t size;      /* of the encoded chunk */
	const uint8_t *mem; /* all of it, or NULL: then read */
	/* Exactly len bytes or an error. */
	int (*read)(struct codec_src *, uint64_t off, size_t len, void *out);
};

/* What takes the place of some bytes of a decoded chunk. */
struct codec_patch {
	const void *arg;
	bool (*touches)(const void *arg, size_t from, size_t to);       /* any of these bytes? */
	void (*lay)(const void *arg, size_t at, size_t n, uint8_t *to); /* over [at, at + n) */
};
enum { CODEC_WHOLE = 1 };

struct codec_ops {
	const char *const *ids; /* V2 and V3 names, NULL last */
	enum codec_kind kind;
	bool carries; /* gives elements on as they are, of whatever type; one that packs has chains
			 of its own for them */
	/* config: the codec's dict (V2: the whole object; V3: "configuration"), may be NULL. in:
	 * what encoding gives to this codec; ret_out: what it makes of it, zeroed by the caller
	 * except that it starts as a copy of *in for CODEC_ARRAY. Numbers may be written as text
	 * ("level": "5"); unknown keys are ignored. -ENOTSUP: known but not decodable here, text
	 * says why. */
	int (*open)(
		const struct json *config, const struct form *in, struct form *ret_out, void **ret);
	void (*close)(void *);
	/* form: what the result must be (as `in` of open, or a smaller or vlen one). out->cap >=
	 * form->bytes; sets out->len. Where form->exact, out->len must come out as form->bytes (the
	 * wrapper checks it too). NULL: decoding changes nothing (bitround); the chain skips it. */
	int (*decode)(const void *, const struct form *, struct span in, struct buf *out);
	/* Bytes [off, off + len) of what decode would give. NULL: cannot. */
	int (*decode_range)(const void *, const struct form *, struct codec_src *, size_t off,
		size_t len, void *out);
	/* How many bytes decode_range decodes at the least, from the head of one encoded chunk
	 * (NULL: of none yet): the natural size of a piece. 0: not known. */
	int (*grain)(const void *, const struct form *, struct codec_src *, size_t *ret);
	/* out grows as needed (buf_reserve). NULL: read-only. */
	int (*encode)(const void *, const struct form *, struct span in, struct buf *out);
	/* As encode of what `was` decodes to with the patch laid over it, for blocks that it does
	 * not touch are kept as they are stored. CODEC_WHOLE: not of this, out may hold anything.
	 * NULL: of nothing. */
	int (*patch)(const void *, const struct form *, struct span was, const struct codec_patch *,
		struct buf *out);
	/* One of its own codecs that can only be read, or NULL. No hook: it has none. */
	const char *(*read_only)(const void *);
	/* Loads the library that encode needs: 0, or -EIO with the reason; cheap once that is done.
	 * NULL: it needs none. */
	int (*load)(const void *);
	/* Up to which length the array's extent says how it decodes; all beyond are alike. 0, or
	 * NULL: it does not. The object may be NULL, but of a codec that carries others. */
	uint64_t (*by_extent)(const void *);
	/* What stands, behind this codec, for an element that is not stored. NULL: what encoding
	 * makes of it. */
	int (*fill)(const void *, struct span element, struct buf *out);
	/* Encoding takes each element by itself, however many there are: whether it can be stored
	 * is seen without the others. */
	bool each;
	/* Does decoding not always give back what encoding was given? NULL: it does. */
	bool (*lossy)(const void *);
	/* Variable-length packers: bytes of the longest element. Others NULL. */
	int (*width)(const void *, const struct form *, struct span in, size_t *ret);
};

extern const struct codec_ops *const codec_table[]; /* generated; NULL last */

/* One codec as metadata name it. */
struct codec_spec {
	char *id;
	struct json *config; /* owned; may be NULL */
};

/* Zarr V3's "codecs" (of an array, of a shard) as such names: what there is called by a V2 name
 * too, or has a file here. */
enum codec_order { CODEC_ORDER_UNSAID, CODEC_ORDER_LITTLE, CODEC_ORDER_BIG };
struct codec_specs {
	struct codec_spec *spec; /* in order of encoding; `bytes` is none, since elements are stored
				    as they are */
	size_t n;
	enum codec_order order; /* what `bytes` says, wherever shards lead to it */
	bool packs;             /* the list says how elements become bytes … */
	bool vlen;              /* … of varying length */
};
/* little: elements come in that order, as behind codecs that calculate; `bytes` in the other one is
 * a codec then. -EINVAL: no such list; -ENOTSUP: what cannot be decoded here, by name. ret is the
 * caller's, to be freed in any case. */
int codec_specs_v3(const struct json *list, bool little, struct codec_specs *ret);
void codec_specs_free(struct codec_specs *);

struct codec_chain;

/* array: form of the decoded chunk. -ENOTSUP: a codec that is not here (the text names it, and the
 * library if only that is missing) or that cannot be decoded; -EINVAL: bad configuration. */
int codec_chain_open(
	const struct codec_spec *, size_t n, const struct form *array, struct codec_chain **ret);
/* The same for codecs that have chains of their own, of those that their origin's form has. */
int codec_chain_open_inner(
	const struct codec_spec *, size_t n, const struct form *array, struct codec_chain **ret);
struct codec_chain *codec_chain_free(struct codec_chain *);
CLEAN_DEFINE(struct codec_chain, codec_chain_free)

/* Decodes a whole chunk. out->cap >= form->bytes; the last codec writes straight into it. form
 * NULL: the one of open. */
int codec_chain_decode(
	const struct codec_chain *, const struct form *, struct span in, struct buf *out);
int codec_chain_encode(
	const struct codec_chain *, const struct form *, struct span in, struct buf *out);
/* Encodes a chunk that is stored as `was` with a patch laid over it, where that takes less than all
 * of it. CODEC_WHOLE: it does not. */
int codec_chain_patch(
	const struct codec_chain *, struct span was, const struct codec_patch *, struct buf *out);
/* What encoding makes of a chunk: no valid encoded chunk has more bytes. */
const struct form *codec_chain_encoded(const struct codec_chain *);
/* Bytes that a decode needs besides input and output. */
size_t codec_chain_scratch(const struct codec_chain *);
/* Can decode_range work without decoding all? (no codec, or one that can) */
bool codec_chain_ranged(const struct codec_chain *);
/* The codec that cannot encode; NULL: all can. */
const char *codec_chain_read_only(const struct codec_chain *);
/* Loads the libraries that encoding needs, so that the first chunk does not wait for it. -EIO with
 * the reason where one is not there. */
int codec_chain_load(const struct codec_chain *);
/* Appends "quantize,bitround": the codecs that do not always give back what they were given. */
int codec_chain_lossy(const struct codec_chain *, struct buf *ret);
/* Can these elements, some of a chunk, be stored? 0; -ERANGE: one cannot; what all of a chunk
 * decides encoding alone can tell. */
int codec_chain_check(const struct codec_chain *, struct span elements);
/* Up to which length of the array does what the chain makes of a chunk depend on that? 0: none. */
uint64_t codec_chain_by_extent(const struct codec_chain *);
/* The chunk is stored as it is. */
bool codec_chain_empty(const struct codec_chain *);
int codec_chain_decode_range(
	const struct codec_chain *, struct codec_src *, size_t off, size_t len, void *out);
int codec_chain_grain(const struct codec_chain *, struct codec_src *, size_t *ret);
/* Longest element of a chunk of a variable-length dtype. */
int codec_chain_width(const struct codec_chain *, struct span in, size_t *ret);
/* Does an element of fill that lies missing behind these codecs come back as it is? 1, 0 or -errno;
 * 0 too if a codec of the chain does not take each element by itself. */
int codec_chain_keeps_fill(const struct codec_chain *);
/* Appends "shuffle,zlib", in order of encoding. */
int codec_chain_text(const struct codec_spec *, size_t n, struct buf *ret);

/* For codecs: thread-local scratch number `which`, at least size bytes, valid until the same thread
 * asks again for the same one, or rests. The chain uses 0 and 1; a codec may use 2 to 5. NULL: no
 * memory. */
void *codec_scratch(unsigned which, size_t size);
/* For codecs that decode with chains of their own: what this thread asks for from here on is other
 * scratch, until it leaves. Levels there are: form.nested < CODEC_NESTED_MAX. */
enum { CODEC_NESTED_MAX = 8 };
void codec_scratch_enter(void);
void codec_scratch_leave(void);
/* For codecs: the object that thread_local *slot points to, made when this thread first asks. NULL:
 * no memory. */
void *codec_local(void **slot, void *(*make)(void), void (*destroy)(void *));
/* Between two chunks: gives back scratch that is too large for each of many threads to keep. */
void codec_scratch_rest(void);
/* Frees this thread's scratch and objects; called by those that hold too much. Threads that end
 * need not call it. */
void codec_scratch_free(void);

/* For codecs: sizes of encoded bytes. No sensible encoder makes more of n bytes than this.
 * Saturates. */
size_t codec_worst(size_t n);
/* A number that only steers encoding: def when absent or odd, else brought into [min, max]. */
int codec_level(const struct json *config, const char *key, int def, int min, int max);
/* A number that decoding depends on: def when absent or null; -EINVAL when it is no integer or
 * outside [min, max]. */
int codec_number(const struct json *config, const char *key, int64_t def, int64_t min, int64_t max,
	int64_t *ret);
