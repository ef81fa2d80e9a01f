/* Bits → latents: bins with their tANS machine, and what batches take from the stream by them.
 *
 * A batch is gone through twice. First its symbols: four machines take turns, and one load of 8
 * bytes serves all four, since 4 × 14 bits are less than 57. Then its offsets, whose places are
 * sums of widths that are known by then: no load waits for another. Near the end of the stream both
 * passes read from a copy with zeros behind it; whether there were as many bits is looked at
 * afterwards. */
#include "codec/codec.h"
#include "codecs/pcodec.h"

enum {
	ROOM = PCODEC_BATCH * 8 + 32, /* bytes that a pass reads at the most */
	AHEAD = 16,                   /* bytes behind the last bit that it may touch */
	ONE_LOAD = 57,                /* bits that 8 bytes hold wherever they begin */
	SCRATCH_HISTORY = 5,
	HISTORY_STEP = 4096, /* latents that are added before older ones move */
};

/* Widths of one field of a bin: how many bits its offsets have. */
static unsigned
offset_field(unsigned bits)
{
	return bits == 8 ? 4 : bits == 16 ? 5 : bits == 32 ? 6 : 7;
}

/* bin[].mask is the weight until the table is built. */
static int
read_bin(struct pcodec_bits *b, struct pcodec_variable *v, struct pcodec_bin *ret)
{
	int r = pcodec_read(b, v->log, "bin weight", &ret->mask);
	if (r == 0)
		r = pcodec_read(b, v->bits, "bin lower", &ret->lower);
	if (r == 0)
		r = pcodec_read(b, offset_field(v->bits), "bin offset bits", &ret->bits);
	if (r == 0 && ret->bits > v->bits)
		r = err_set(-EIO, "'bin offset bits' are %u for latents of %u", (unsigned)ret->bits,
			v->bits);
	if (r < 0)
		return r;
	ret->mask++;
	if (ret->bits > v->most)
		v->most = (unsigned)ret->bits;
	return 0;
}

static int
read_all_bins(struct pcodec_bits *b, struct pcodec_variable *v)
{
	uint64_t sum = 0;
	v->most = 0;
	v->bin[0] = (struct pcodec_bin){.mask = 1};
	for (uint32_t i = 0; i < v->bins; i++) {
		int r = read_bin(b, v, &v->bin[i]);
		if (r < 0)
			return r;
		sum += v->bin[i].mask;
	}
	if (v->bins && sum != (uint64_t)1 << v->log)
		return err_set(-EIO, "'bin weight': their sum is not 2^%u", v->log);
	return 0;
}

/* Symbols are spread over the nodes in steps of three fifths; the k-th node of a symbol of weight w
 * stands for w + k. */
static void
build_table(struct pcodec_variable *v)
{
	uint32_t size = (uint32_t)1 << v->log, stride = (3 * size / 5) | 1, at = 0;
	for (uint32_t i = 0; i < (v->bins ? v->bins : 1); i++)
		for (uint64_t k = 0; k < v->bin[i].mask; k++) {
			v->node[at].bin = (uint16_t)i;
			at = (at + stride) & (size - 1);
		}
	for (uint32_t i = 0; i < size; i++) {
		uint32_t x = (uint32_t)v->bin[v->node[i].bin].mask++;
		unsigned bits = v->log - (31 - (unsigned)__builtin_clz(x));
		v->node[i].base = (uint16_t)((x << bits) - size);
		v->node[i].mask = (uint16_t)((1u << bits) - 1);
		v->node[i].bits = (uint16_t)bits;
	}
	for (uint32_t i = 0; i < (v->bins ? v->bins : 1); i++)
		v->bin[i].mask = pcodec_low_bits((unsigned)v->bin[i].bits);
}

static int
read_table(struct pcodec_bits *b, unsigned scratch, struct pcodec_variable *v)
{
	uint64_t log = 0, bins = 0;
	int r = pcodec_read(b, 4, "ANS size log", &log);
	if (r == 0)
		r = pcodec_read(b, 15, "bin count", &bins);
	if (r < 0)
		return r;
	if (log > PCODEC_ANS_LOG_MAX || bins > (uint64_t)1 << log || (log && bins < 2))
		return err_set(
			-EIO, "'ANS size log' is %u for %u bins", (unsigned)log, (unsigned)bins);
	v->log = (unsigned)log;
	v->bins = (uint32_t)bins;
	r = pcodec_need(b, bins * (log + v->bits + offset_field(v->bits)), "bins");
	if (r < 0)
		return r;
	size_t room = bins ? bins : 1, all = room * sizeof *v->bin + (sizeof *v->node << log);
	v->bin = codec_scratch(scratch, all);
	if (!v->bin)
		return err_set(-ENOMEM, "no memory for %zu bytes", all);
	v->node = (struct pcodec_node *)(v->bin + room);
	r = read_all_bins(b, v);
	if (r == 0)
		build_table(v);
	return r;
}

int
pcodec_read_bins(struct pcodec_bits *b, unsigned scratch, struct pcodec_variable *v)
{
	int r = read_table(b, scratch, v);
	return r < 0 ? err_add(r, "%s latents", v->name) : 0;
}

/* How many latents before the newest one lookbacks of this page need to be kept, and room to go
 * on. */
static size_t
history_cap(const struct pcodec_chunk *c)
{
	size_t all = (size_t)c->count + c->states;
	size_t window = ((size_t)2 << c->window_log) + HISTORY_STEP;
	return all < window ? all : window;
}

static int
lay_histories(struct pcodec_chunk *c)
{
	struct pcodec_variable *v = c->variable;
	size_t cap = history_cap(c), sum = 0;
	for (unsigned i = PCODEC_PRIMARY; i < PCODEC_VARIABLES; i++)
		if (v[i].bits && v[i].delta == PCODEC_LOOKBACK)
			sum += cap * sizeof(uint64_t);
	uint8_t *p = sum ? codec_scratch(SCRATCH_HISTORY, sum) : NULL;
	if (sum && !p)
		return err_set(-ENOMEM, "no memory for %zu bytes", sum);
	for (unsigned i = PCODEC_PRIMARY; p && i < PCODEC_VARIABLES; i++) {
		v[i].history = p;
		v[i].cap = cap;
		v[i].len = v[i].first = 0;
		v[i].moved = false;
		p = v[i].bits && v[i].delta == PCODEC_LOOKBACK ? p + cap * sizeof(uint64_t) : p;
	}
	return 0;
}

/* One of the latents that a page begins with. */
static void
put_state(struct pcodec_variable *v, uint32_t i, uint64_t latent)
{
	if (v->delta != PCODEC_LOOKBACK) {
		v->recent[i] = latent;
		return;
	}
	switch (v->bits) {
	case 8: ((uint8_t *)v->history)[i] = (uint8_t)latent; break;
	case 16: ((uint16_t *)v->history)[i] = (uint16_t)latent; break;
	case 32: ((uint32_t *)v->history)[i] = (uint32_t)latent; break;
	default: ((uint64_t *)v->history)[i] = latent; break;
	}
	v->len = i + 1;
}

static int
read_states(struct pcodec_bits *b, struct pcodec_variable *v)
{
	for (uint32_t i = 0; i < v->states; i++) {
		uint64_t latent = 0;
		int r = pcodec_read(b, v->bits, "delta state", &latent);
		if (r < 0)
			return r;
		put_state(v, i, latent);
	}
	for (unsigned i = 0; i < 4; i++) {
		uint64_t state = 0;
		int r = pcodec_read(b, v->log, "ANS state", &state);
		if (r < 0)
			return r;
		v->ans[i] = (uint32_t)state;
	}
	return 0;
}

int
pcodec_begin_page(struct pcodec_bits *b, struct pcodec_chunk *c)
{
	int r = lay_histories(c);
	for (unsigned i = 0; r == 0 && i < PCODEC_VARIABLES; i++) {
		struct pcodec_variable *v = &c->variable[i];
		if (!v->bits)
			continue;
		r = read_states(b, v);
		if (r == 0 && !v->bins && c->count > c->states)
			r = err_set(-EIO, "'bin count' is 0");
		if (r < 0)
			return err_add(r, "%s latents", v->name);
	}
	return r < 0 ? r : pcodec_align(b, "page metadata");
}

/* n symbols from p on; returns how many bits they are. */
static uint64_t
take_symbols(struct pcodec_variable *v, const uint8_t *p, unsigned skip, unsigned n, uint16_t *bin)
{
	const struct pcodec_node *node = v->node;
	uint32_t s0 = v->ans[0], s1 = v->ans[1], s2 = v->ans[2], s3 = v->ans[3];
	uint64_t at = skip;
	unsigned i = 0;
	for (; i + 4 <= n; i += 4) {
		uint64_t w = pcodec_load(p + (at >> 3)) >> (at & 7);
		const struct pcodec_node *n0 = &node[s0], *n1 = &node[s1], *n2 = &node[s2],
					 *n3 = &node[s3];
		unsigned to1 = n0->bits, to2 = to1 + n1->bits, to3 = to2 + n2->bits;
		bin[i] = n0->bin;
		bin[i + 1] = n1->bin;
		bin[i + 2] = n2->bin;
		bin[i + 3] = n3->bin;
		s0 = n0->base + (uint32_t)(w & n0->mask);
		s1 = n1->base + (uint32_t)(w >> to1 & n1->mask);
		s2 = n2->base + (uint32_t)(w >> to2 & n2->mask);
		s3 = n3->base + (uint32_t)(w >> to3 & n3->mask);
		at += to3 + n3->bits;
	}
	uint32_t s[4] = {s0, s1, s2, s3};
	for (; i < n; i++) {
		const struct pcodec_node *one = &node[s[i & 3]];
		bin[i] = one->bin;
		s[i & 3] =
			one->base + (uint32_t)(pcodec_load(p + (at >> 3)) >> (at & 7) & one->mask);
		at += one->bits;
	}
	memcpy(v->ans, s, sizeof s);
	return at - skip;
}

#define PCODEC_INLINE static inline __attribute__((always_inline))

/* bits is a constant where this is inlined. */
PCODEC_INLINE void
put(union pcodec_latents *l, unsigned bits, unsigned i, uint64_t v)
{
	switch (bits) {
	case 8: l->u8[i] = (uint8_t)v; break;
	case 16: l->u16[i] = (uint16_t)v; break;
	case 32: l->u32[i] = (uint32_t)v; break;
	default: l->u64[i] = v; break;
	}
}

/* Where and how offsets lie. */
struct offsets {
	const uint8_t *p;
	unsigned skip, n;
	const struct pcodec_bin *bin;
	const uint16_t *chosen;
};

/* The field at bit `at`; wide: of more than ONE_LOAD bits. */
PCODEC_INLINE uint64_t
field(const uint8_t *p, uint64_t at, bool wide)
{
	unsigned shift = at & 7;
	uint64_t low = pcodec_load(p + (at >> 3)) >> shift;
	return wide ? low | (uint64_t)p[(at >> 3) + 8] << 1 << (63 - shift) : low;
}

PCODEC_INLINE uint64_t
take_offsets(const struct offsets *o, union pcodec_latents *ret, unsigned bits, bool wide)
{
	uint64_t at = o->skip;
	for (unsigned i = 0; i < o->n; i++) {
		const struct pcodec_bin *bin = &o->bin[o->chosen[i]];
		put(ret, bits, i, bin->lower + (field(o->p, at, wide) & bin->mask));
		at += bin->bits;
	}
	return at - o->skip;
}

/* All of one bin. */
PCODEC_INLINE uint64_t
take_equal(const struct offsets *o, union pcodec_latents *ret, unsigned bits, bool wide)
{
	const struct pcodec_bin bin = *o->bin;
	for (unsigned i = 0; i < o->n; i++)
		put(ret, bits, i,
			bin.lower + (field(o->p, o->skip + i * bin.bits, wide) & bin.mask));
	return o->n * bin.bits;
}

/* Bins without offsets; chosen NULL: one. */
PCODEC_INLINE uint64_t
take_lowers(const struct offsets *o, union pcodec_latents *ret, unsigned bits)
{
	const struct pcodec_bin *bin = o->bin;
	if (o->chosen)
		for (unsigned i = 0; i < o->n; i++)
			put(ret, bits, i, bin[o->chosen[i]].lower);
	else
		for (unsigned i = 0; i < o->n; i++)
			put(ret, bits, i, bin->lower);
	return 0;
}

PCODEC_INLINE uint64_t
take_of(const struct offsets *o, union pcodec_latents *ret, unsigned bits, unsigned most)
{
	if (!most)
		return take_lowers(o, ret, bits);
	if (bits == 64 && most > ONE_LOAD)
		return o->chosen ? take_offsets(o, ret, bits, true)
				 : take_equal(o, ret, bits, true);
	return o->chosen ? take_offsets(o, ret, bits, false) : take_equal(o, ret, bits, false);
}

static uint64_t
take_latents(const struct offsets *o, struct pcodec_variable *v)
{
	switch (v->bits) {
	case 8: return take_of(o, &v->latent, 8, v->most);
	case 16: return take_of(o, &v->latent, 16, v->most);
	case 32: return take_of(o, &v->latent, 32, v->most);
	default: return take_of(o, &v->latent, 64, v->most);
	}
}

int
pcodec_take(struct pcodec_bits *b, struct pcodec_variable *v, unsigned n)
{
	uint8_t room[ROOM];
	uint16_t chosen[PCODEC_BATCH];
	int r = 0;
	if (!n)
		return 0;
	if (v->bins > 1) {
		const uint8_t *p = pcodec_window(b, n * v->log / 8 + AHEAD, room);
		r = pcodec_skip(b, take_symbols(v, p, b->at & 7, n, chosen), "symbols");
	}
	if (r == 0) {
		struct offsets o = {
			.p = pcodec_window(b, n * v->most / 8 + AHEAD, room),
			.skip = b->at & 7,
			.n = n,
			.bin = v->bin,
			.chosen = v->bins > 1 ? chosen : NULL,
		};
		r = pcodec_skip(b, take_latents(&o, v), "offsets");
	}
	return r < 0 ? err_add(r, "%s latents", v->name) : 0;
}
