/* What the codecs that calculate have in common: two dtypes of a config, and the way from one to
 * the other. */
#pragma once

#include "codec/codec.h"
#include "codecs/number.h"

/* Lives in the codec's object: the form that goes out points into it. */
struct number_codec {
	struct dtype decoded, encoded;
	uint64_t count; /* elements, where they are not the array's own */
};

/* Reads both dtypes (keys of a config; the encoded one may be absent, then it is the decoded one)
 * and states the form that comes out. -ENOTSUP: not numbers. The array's own dtype may be another
 * of the same bytes. */
struct number_keys {
	const char *decoded, *encoded;
	bool parts; /* real and imaginary parts are numbers for themselves: both dtypes may be
		       complex */
};
int number_codec_open(const struct json *config, const struct number_keys *, const struct form *in,
	struct form *out, struct number_codec *ret);
void number_codec_done(struct number_codec *);
/* The fill value behind such a codec of numcodecs: the same number, of type `encoded`. */
int number_codec_fill(const struct number_codec *, struct span element, struct buf *out);

/* Elements of `from` become elements of `to`, by way of step where there is one: it gets blocks of
 * numbers in order, changes them in place and says what they are then. */
struct number_job {
	const struct dtype *from, *to;
	enum number_class (*step)(void *arg, enum number_class, union number *, size_t n);
	void *arg;
	bool strict; /* -ERANGE where a number is none of `to`, rather than another one */
};
/* -EIO where in is not whole elements or out too small. */
int number_run(const struct number_job *, struct span in, struct buf *out);
/* The same into a growing buffer. */
int number_run_grow(const struct number_job *, struct span in, struct buf *out);
