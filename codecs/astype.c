/* astype (numcodecs): elements of "decode_dtype" stored as "encode_dtype", converted as C does. */
#include "base/err.h"
#include "codecs/number_codec.h"

#include <errno.h>

/* A time is an integer here, of the same unit on both sides. */
static int
check_times(const struct number_codec *c)
{
	const struct dtype *d = &c->decoded, *e = &c->encoded;
	if (!number_is_time(d) && !number_is_time(e))
		return 0;
	if (d->kind == DTYPE_FLOAT || e->kind == DTYPE_FLOAT)
		return err_set(-ENOTSUP, "conversion between times and floats");
	bool both = number_is_time(d) && number_is_time(e);
	if (both && (d->kind != e->kind || d->unit != e->unit || d->unit_count != e->unit_count))
		return err_set(-ENOTSUP, "conversion between units of time");
	return 0;
}

static void
astype_close(void *state)
{
	struct number_codec *c = state;
	if (c)
		number_codec_done(c);
	free(c);
}

static int
astype_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct number_codec *c = malloc(sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "out of memory");
	const struct number_keys keys = {"decode_dtype", "encode_dtype", .parts = true};
	if (!config || !json_get(config, keys.encoded)) {
		free(c);
		return err_set(-EINVAL, "no '%s'", keys.encoded);
	}
	int r = number_codec_open(config, &keys, in, out, c);
	if (r >= 0)
		r = check_times(c);
	if (r < 0) {
		astype_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

static int
astype_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct number_codec *c = state;
	return number_run(&(struct number_job){&c->encoded, &c->decoded}, in, out);
}

static int
astype_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct number_codec *c = state;
	return number_run_grow(
		&(struct number_job){&c->decoded, &c->encoded, .strict = true}, in, out);
}

/* Floats lose digits to shorter ones, and fractions to integers; of integers those that fit are
 * whole. */
static bool
astype_lossy(const void *state)
{
	const struct number_codec *c = state;
	return c->decoded.kind == DTYPE_FLOAT
		       ? c->encoded.kind != DTYPE_FLOAT || c->encoded.size < c->decoded.size
		       : c->encoded.kind == DTYPE_FLOAT && c->encoded.size <= c->decoded.size;
}

static int
astype_fill(const void *state, struct span element, struct buf *out)
{
	return number_codec_fill(state, element, out);
}

const struct codec_ops codec_astype = {
	.ids = (const char *const[]){"astype", "numcodecs.astype", NULL},
	.kind = CODEC_ARRAY,
	.open = astype_open,
	.close = astype_close,
	.decode = astype_decode,
	.encode = astype_encode,
	.fill = astype_fill,
	.each = true,
	.lossy = astype_lossy,
};
