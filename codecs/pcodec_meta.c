/* What a chunk of a pcodec stream says before its numbers. */
#include "codecs/pcodec.h"

#include <math.h>

enum {
	SCRATCH_FIRST = 2, /* and the next two: bins of the variables */
	LOOKBACK_BITS = 32,
	DICT_BITS = 32, /* of an index */
	WINDOW_LOG_MAX = 24,
	ORDER_BITS_OLD = 3,
};

/* A field that is small. */
static int
read_small(struct pcodec_bits *b, unsigned width, const char *field, unsigned *ret)
{
	uint64_t v = 0;
	int r = pcodec_read(b, width, field, &v);
	*ret = (unsigned)v;
	return r;
}

/* A dictionary's entries stay in the stream. */
static int
read_dict(struct pcodec_bits *b, struct pcodec_chunk *c)
{
	int r = read_small(b, 25, "dict count", &c->entries);
	if (r == 0)
		r = pcodec_align(b, "dict count");
	if (r < 0)
		return r;
	c->dict = b->data + (b->at >> 3);
	return pcodec_skip(b, (uint64_t)c->entries * c->type->bits, "dict");
}

static int
read_mode(struct pcodec_bits *b, unsigned format, struct pcodec_chunk *c)
{
	unsigned mode = 0;
	int r = read_small(b, 4, "mode", &mode);
	if (r < 0)
		return r;
	if (mode > PCODEC_DICT)
		return err_set(-EIO, "'mode' is %u, which is not known", mode);
	c->mode = (enum pcodec_mode)mode;
	switch (c->mode) {
	case PCODEC_CLASSIC: return 0;
	case PCODEC_INT_MULT:
		if (format == 0)
			return err_set(-EIO, "'mode' 1 of format 0 is not supported");
		return pcodec_read(b, c->type->bits, "int base", &c->base);
	case PCODEC_FLOAT_MULT: return pcodec_read(b, c->type->bits, "float base", &c->base);
	case PCODEC_FLOAT_QUANT: return read_small(b, 8, "quantization", &c->quant);
	case PCODEC_DICT: return read_dict(b, c);
	}
	return 0;
}

static int
check_mode(const struct pcodec_chunk *c)
{
	bool is_float = c->type->class == PCODEC_FLOAT;
	unsigned mantissa = c->type->bits == 16 ? 10 : c->type->bits == 32 ? 23 : 52;
	if (c->mode == PCODEC_INT_MULT && (is_float || !c->base))
		return err_set(-EIO, "'int base' %s", is_float ? "of floats" : "is 0");
	if (c->mode == PCODEC_FLOAT_QUANT && (!is_float || c->quant < 1 || c->quant > mantissa))
		return err_set(
			-EIO, "'quantization' of %u bits for type %s", c->quant, c->type->name);
	if (c->mode == PCODEC_FLOAT_MULT && !is_float)
		return err_set(-EIO, "'float base' of integers");
	return c->mode == PCODEC_FLOAT_MULT ? pcodec_check_base(c) : 0;
}

static int
read_flag(struct pcodec_bits *b, const char *field, bool *ret)
{
	unsigned v = 0;
	int r = read_small(b, 1, field, &v);
	*ret = v;
	return r;
}

static int
read_consecutive(struct pcodec_bits *b, struct pcodec_chunk *c)
{
	int r = read_small(b, 3, "delta order", &c->states);
	if (r == 0 && !c->states)
		r = err_set(-EIO, "'delta order' is 0");
	return r < 0 ? r : read_flag(b, "delta of secondary", &c->delta_too);
}

static int
read_lookback(struct pcodec_bits *b, struct pcodec_chunk *c)
{
	unsigned state_log = 0;
	int r = read_small(b, 5, "window log", &c->window_log);
	if (r == 0)
		r = read_small(b, 4, "state log", &state_log);
	if (r == 0)
		r = read_flag(b, "delta of secondary", &c->delta_too);
	if (r < 0)
		return r;
	c->window_log++;
	c->states = 1u << state_log;
	if (c->window_log > WINDOW_LOG_MAX || state_log > c->window_log)
		return err_set(
			-EIO, "'window log' %u with 'state log' %u", c->window_log, state_log);
	return 0;
}

static int
read_conv(struct pcodec_bits *b, struct pcodec_chunk *c)
{
	uint64_t bias = 0, weight = 0;
	int r = read_small(b, 5, "conv quantization", &c->shift);
	if (r == 0)
		r = pcodec_read(b, 64, "conv bias", &bias);
	if (r == 0)
		r = read_small(b, 5, "conv order", &c->states);
	c->bias = (int64_t)(bias ^ (uint64_t)1 << 63);
	c->states++;
	for (unsigned i = 0; r == 0 && i < c->states; i++) {
		r = pcodec_read(b, 32, "conv weight", &weight);
		c->weight[i] = (int32_t)((uint32_t)weight ^ (uint32_t)1 << 31);
	}
	return r;
}

static int
read_delta(struct pcodec_bits *b, unsigned format, struct pcodec_chunk *c)
{
	unsigned variant = 0;
	if (format < 3) {
		int r = read_small(b, ORDER_BITS_OLD, "delta order", &c->states);
		c->delta = c->states ? PCODEC_CONSECUTIVE : PCODEC_NO_DELTA;
		return r;
	}
	int r = read_small(b, 4, "delta variant", &variant);
	if (r < 0)
		return r;
	if (variant > PCODEC_CONV)
		return err_set(-EIO, "'delta variant' is %u, which is not known", variant);
	c->delta = (enum pcodec_delta)variant;
	switch (c->delta) {
	case PCODEC_NO_DELTA: return 0;
	case PCODEC_CONSECUTIVE: return read_consecutive(b, c);
	case PCODEC_LOOKBACK: return read_lookback(b, c);
	case PCODEC_CONV: return read_conv(b, c);
	}
	return 0;
}

/* The sums of a convolution must fit in twice the bits of a latent, with a sign. */
static int
check_conv(const struct pcodec_chunk *c, unsigned bits)
{
	if (bits > 32)
		return err_set(-EIO, "'delta variant' 3 of 64-bit latents");
	if (c->shift > 2 * bits - 1)
		return err_set(-EIO, "'conv quantization' is %u", c->shift);
	double sum = 0;
	for (unsigned i = 0; i < c->states; i++)
		sum += fabs((double)c->weight[i]);
	if (fabs((double)c->bias) + ldexp(sum, (int)bits) >= ldexp(1, 2 * (int)bits - 1))
		return err_set(-EIO, "'conv weight' and 'conv bias' are too large");
	return 0;
}

static int
check_lookbacks(const struct pcodec_chunk *c)
{
	const struct pcodec_variable *v = &c->variable[PCODEC_OF_DELTA];
	for (uint32_t i = 0; i < v->bins; i++)
		if (v->bin[i].lower < 1 || v->bin[i].lower > (uint64_t)1 << c->window_log)
			return err_set(-EIO, "'delta bin' %u begins outside the window", i);
	return 0;
}

/* Which variables there are, and what was done to them. */
static void
lay_variables(struct pcodec_chunk *c)
{
	static const char *const names[] = {"delta", "primary", "secondary"};
	struct pcodec_variable *v = c->variable;
	for (unsigned i = 0; i < PCODEC_VARIABLES; i++) {
		v[i].name = names[i];
		v[i].bits = 0;
		v[i].delta = PCODEC_NO_DELTA;
		v[i].states = 0;
	}
	if (c->delta == PCODEC_LOOKBACK)
		v[PCODEC_OF_DELTA].bits = LOOKBACK_BITS;
	v[PCODEC_PRIMARY].bits = c->mode == PCODEC_DICT ? DICT_BITS : c->type->bits;
	v[PCODEC_PRIMARY].delta = c->delta;
	v[PCODEC_PRIMARY].states = c->states;
	if (c->mode == PCODEC_CLASSIC || c->mode == PCODEC_DICT)
		return;
	v[PCODEC_SECONDARY].bits = c->type->bits;
	if (!c->delta_too)
		return;
	v[PCODEC_SECONDARY].delta = c->delta;
	v[PCODEC_SECONDARY].states = c->states;
}

int
pcodec_read_meta(struct pcodec_bits *b, unsigned format, struct pcodec_chunk *c)
{
	c->states = 0;
	c->delta_too = false;
	int r = read_mode(b, format, c);
	if (r == 0)
		r = check_mode(c);
	if (r == 0)
		r = read_delta(b, format, c);
	if (r < 0)
		return r;
	lay_variables(c);
	if (c->delta == PCODEC_CONV)
		r = check_conv(c, c->variable[PCODEC_PRIMARY].bits);
	for (unsigned i = 0; r == 0 && i < PCODEC_VARIABLES; i++)
		if (c->variable[i].bits)
			r = pcodec_read_bins(b, SCRATCH_FIRST + i, &c->variable[i]);
	if (r == 0)
		r = pcodec_align(b, "chunk metadata");
	if (r == 0 && c->delta == PCODEC_LOOKBACK)
		r = check_lookbacks(c);
	return r;
}
