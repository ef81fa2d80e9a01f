/* A pcodec stream: a byte that picks the type, two for the number of elements, then the stream.
 * What it gives must not depend on what memory held before. */
#include "codec/codec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In the order of the stream's own bytes for them. */
static const struct dtype types[] = {
	{.kind = DTYPE_UINT, .size = 4},
	{.kind = DTYPE_UINT, .size = 8},
	{.kind = DTYPE_INT, .size = 4},
	{.kind = DTYPE_INT, .size = 8},
	{.kind = DTYPE_FLOAT, .size = 4},
	{.kind = DTYPE_FLOAT, .size = 8},
	{.kind = DTYPE_UINT, .size = 2},
	{.kind = DTYPE_INT, .size = 2},
	{.kind = DTYPE_FLOAT, .size = 2},
	{.kind = DTYPE_UINT, .size = 1},
	{.kind = DTYPE_INT, .size = 1},
	{.kind = DTYPE_COMPLEX, .size = 8},
};

enum { HEAD = 3, COUNT_MAX = 1 << 13, SCRATCH_FIRST = 2, SCRATCH_END = 6, SCRATCH_BYTES = 8 << 10 };

static int
decode(const struct codec_chain *c, struct span in, uint8_t with, struct buf *out)
{
	memset(out->data, with, out->cap);
	for (unsigned i = SCRATCH_FIRST; i < SCRATCH_END; i++) {
		void *scratch = codec_scratch(i, SCRATCH_BYTES);
		if (!scratch)
			abort();
		memset(scratch, with, SCRATCH_BYTES);
	}
	return codec_chain_decode(c, NULL, in, out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < HEAD)
		return 0;
	const struct dtype *d = &types[data[0] % (sizeof types / sizeof *types)];
	uint64_t count = (data[1] + 256u * data[2]) % COUNT_MAX + 1;
	struct form form = {
		.dtype = d,
		.rank = 1,
		.shape = &count,
		.count = count,
		.bytes = count * d->size,
		.exact = true,
	};
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	if (codec_chain_open(&(struct codec_spec){(char[]){"pcodec"}, NULL}, 1, &form, &c) < 0)
		abort();
	struct span in = {data + HEAD, size - HEAD};
	struct buf one = {malloc(form.bytes), 0, form.bytes},
		   other = {malloc(form.bytes), 0, form.bytes};
	if (!one.data || !other.data)
		abort();
	int r = decode(c, in, 0xaa, &one);
	if (r != decode(c, in, 0x55, &other) || (r >= 0 && memcmp(one.data, other.data, one.len)))
		abort();
	free(one.data);
	free(other.data);
	return 0;
}
