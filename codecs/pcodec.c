/* pcodec (numcodecs; zarr-extensions codec `pcodec`): numbers as a standalone stream of the pco
 * format, in chunks of its own. Decoding only. The configuration steers the writer; all that a
 * reader needs is in the stream. */
#include "base/check.h"
#include "codec/codec.h"
#include "codecs/number.h"
#include "codecs/pcodec.h"

#include <inttypes.h>

enum { STANDALONE_MAX = 3, MINOR_SINCE = 4 };

static const struct pcodec_type types[] = {
	{1, PCODEC_UINT, 32, "uint32"},
	{2, PCODEC_UINT, 64, "uint64"},
	{3, PCODEC_INT, 32, "int32"},
	{4, PCODEC_INT, 64, "int64"},
	{5, PCODEC_FLOAT, 32, "float32"},
	{6, PCODEC_FLOAT, 64, "float64"},
	{7, PCODEC_UINT, 16, "uint16"},
	{8, PCODEC_INT, 16, "int16"},
	{9, PCODEC_FLOAT, 16, "float16"},
	{10, PCODEC_UINT, 8, "uint8"},
	{11, PCODEC_INT, 8, "int8"},
};
enum { TYPES = sizeof types / sizeof *types };

struct pcodec {
	const struct pcodec_type *type;
	unsigned parts; /* numbers of an element */
	bool big;
};

struct pcodec_stream {
	struct pcodec_bits bits;
	const struct pcodec_type *type;
	unsigned format;
	uint64_t left; /* numbers that are still to come */
	uint8_t *to;
};

static int
type_of(const struct dtype *d, struct pcodec *ret)
{
	enum pcodec_class class;
	switch (d->kind) {
	case DTYPE_UINT: class = PCODEC_UINT; break;
	case DTYPE_INT:
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA: class = PCODEC_INT; break;
	case DTYPE_FLOAT:
	case DTYPE_COMPLEX: class = PCODEC_FLOAT; break;
	default: return err_set(-EINVAL, "only integers and floats can be compressed");
	}
	if (d->big && d->size > 1 && !NUMBER_HOST_BIG)
		return err_set(-EINVAL, "numbers in big-endian order cannot be compressed");
	ret->parts = d->kind == DTYPE_COMPLEX ? 2 : 1;
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].class == class && types[i].bits * ret->parts == d->size * 8)
			ret->type = &types[i];
	return ret->type ? 0
			 : err_set(-EINVAL, "numbers of %u bytes cannot be compressed", d->size);
}

static int
pcodec_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct pcodec p = {0};
	if (!in->dtype)
		return err_set(-EINVAL, "bytes are no numbers");
	int r = type_of(in->dtype, &p);
	if (r < 0)
		return r;
	p.big = in->dtype->big;
	struct pcodec *state = malloc(sizeof *state);
	if (!state)
		return err_set(-ENOMEM, "out of memory");
	*state = p;
	/* twice: there may be many chunks with many bins */
	out->bytes = in->bytes > SIZE_MAX / 4 ? in->bytes : codec_worst(2 * in->bytes);
	*ret = state;
	return 0;
}

/* A field of whole bytes. */
static int
read_byte(struct pcodec_bits *b, const char *field, unsigned *ret)
{
	uint64_t v = 0;
	int r = pcodec_read(b, 8, field, &v);
	*ret = (unsigned)v;
	return r;
}

static const struct pcodec_type *
find_type(unsigned byte)
{
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].byte == byte)
			return &types[i];
	return NULL;
}

static int
check_type(const struct pcodec_stream *s, unsigned byte)
{
	const struct pcodec_type *t = find_type(byte);
	if (t == s->type)
		return 0;
	if (!t)
		return err_set(-EIO, "'type' is %u, which is not known", byte);
	return err_set(-EIO, "'type' is %s instead of %s", t->name, s->type->name);
}

/* What follows a standalone version that is not itself the format's. */
static int
read_format(struct pcodec_stream *s, unsigned version)
{
	struct pcodec_bits *b = &s->bits;
	unsigned byte = 0;
	uint64_t width = 0, hint = 0; /* a count that nothing vouches for */
	int r = version == STANDALONE_MAX ? read_byte(b, "type", &byte) : 0;
	if (r == 0 && byte)
		r = check_type(s, byte);
	if (r == 0)
		r = pcodec_read(b, 6, "count hint", &width);
	if (r == 0)
		r = pcodec_read(b, (unsigned)width + 1, "count hint", &hint);
	if (r == 0)
		r = pcodec_align(b, "count hint");
	if (r == 0)
		r = read_byte(b, "format version", &s->format);
	if (r == 0 && s->format >= MINOR_SINCE)
		r = read_byte(b, "minor format version", &byte);
	return r;
}

static int
read_head(struct pcodec_stream *s)
{
	unsigned version = 0;
	if (s->bits.end < 32 || memcmp(s->bits.data, "pco!", 4))
		return err_set(-EIO, "no pcodec stream: it does not begin with 'pco!'");
	s->bits.at = 32;
	int r = read_byte(&s->bits, "standalone version", &version);
	if (r < 0)
		return r;
	if (version > STANDALONE_MAX)
		return err_set(-EIO, "'standalone version' %u is not supported", version);
	s->format = version;
	if (version >= 2)
		r = read_format(s, version);
	if (r == 0 && s->format > PCODEC_FORMAT_MAX)
		r = err_set(-EIO, "'format version' %u is not supported", s->format);
	return r;
}

/* Latents of one variable for the next count numbers. */
static int
read_latents(struct pcodec_stream *s, struct pcodec_chunk *c, unsigned which, uint32_t left,
	unsigned count)
{
	struct pcodec_variable *v = &c->variable[which];
	uint32_t states = which == PCODEC_OF_DELTA ? c->states : v->states;
	uint32_t stored = left > states ? left - states : 0;
	unsigned n = stored < count ? stored : count;
	int r = pcodec_take(&s->bits, v, n);
	return r < 0 ? r : pcodec_undo(c, v, n, count);
}

static int
read_page(struct pcodec_stream *s, struct pcodec_chunk *c)
{
	int r = pcodec_begin_page(&s->bits, c);
	for (uint32_t left = c->count; r == 0 && left;) {
		unsigned count = left < PCODEC_BATCH ? left : PCODEC_BATCH;
		for (unsigned i = 0; r == 0 && i < PCODEC_VARIABLES; i++)
			if (c->variable[i].bits)
				r = read_latents(s, c, i, left, count);
		if (r == 0)
			r = pcodec_join(c, count, s->to);
		left -= count;
		s->to += count * (c->type->bits / 8);
	}
	return r < 0 ? r : pcodec_align(&s->bits, "page");
}

/* A chunk behind its type. */
static int
read_chunk(struct pcodec_stream *s, struct pcodec_chunk *c)
{
	uint64_t n = 0;
	int r = pcodec_read(&s->bits, 24, "count", &n);
	if (r < 0)
		return r;
	if (++n > s->left)
		return err_set(-EIO, "'count' is %" PRIu64 " where %" PRIu64 " numbers are missing",
			n, s->left);
	s->left -= n;
	c->type = s->type;
	c->count = (uint32_t)n;
	r = pcodec_read_meta(&s->bits, s->format, c);
	return r < 0 ? r : read_page(s, c);
}

static int
read_chunks(struct pcodec_stream *s)
{
	struct pcodec_chunk c = {0};
	for (uint64_t i = 0;; i++) {
		unsigned byte = 0;
		int r = read_byte(&s->bits, "type", &byte);
		if (r == 0 && !byte)
			break;
		if (r == 0)
			r = check_type(s, byte);
		if (r == 0)
			r = read_chunk(s, &c);
		if (r < 0)
			return err_add(r, "chunk %" PRIu64 " of the stream", i);
	}
	return s->left ? err_set(-EIO, "%" PRIu64 " numbers are missing", s->left) : 0;
}

static int
pcodec_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct pcodec *p = state;
	size_t bytes = form->count * p->parts * (p->type->bits / 8);
	if (bytes > out->cap)
		return err_set(-EIO, "%zu bytes, at most %zu are possible", bytes, out->cap);
	struct pcodec_stream s = {
		.bits = {in.data, 0, (uint64_t)in.len * 8},
		.type = p->type,
		.left = form->count * p->parts,
		.to = out->data,
	};
	int r = read_head(&s);
	if (r == 0)
		r = read_chunks(&s);
	if (r < 0)
		return r;
	if (p->big != NUMBER_HOST_BIG)
		dtype_swap(form->dtype, out->data, form->count);
	out->len = bytes;
	return 0;
}

const struct codec_ops codec_pcodec = {
	.ids = (const char *const[]){"pcodec", "numcodecs.pcodec",
		"https://codec.zarrs.dev/array_to_bytes/pcodec", NULL},
	.kind = CODEC_PACK,
	.open = pcodec_open,
	.close = free,
	.decode = pcodec_decode,
};
