/* Hostile chunks for every codec (but gribberish: what would be found is ecCodes' own, which is not
 * built for this): a byte that picks one of the specs below (from 128 on: with the configuration
 * that follows, up to a line end), one for the dtype, two for the number of elements, two for a
 * range; then the encoded bytes. */
#include "codec/codec.h"
#include "test/chunk_change.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const char *id, *config;
} specs[] = {
	{"blosc", "{}"},
	{"zlib", "{}"},
	{"gzip", "{}"},
	{"zstd", "{}"},
	{"lz4", "{}"},
	{"bz2", "{}"},
	{"lzma", "{}"},
	{"lzma", "{\"format\": 3, \"filters\": [{\"id\": 3, \"dist\": 4}, {\"id\": 33, \"preset\": "
		 "1}]}"},
	{"lzma", "{\"format\": 3, \"filters\": [{\"id\": 4, \"start_offset\": 4}, {\"id\": "
		 "4611686018427387905}]}"},
	{"crc32", "{}"},
	{"adler32", "{}"},
	{"crc32c", "{}"},
	{"fletcher32", "{}"},
	{"jenkins_lookup3", "{\"prefix\": [1, 2, 3]}"},
	{"base64", "{}"},
	{"szip", "{\"mask\": 32, \"pixels-per-block\": 8}"},
	{"szip", "{\"mask\": 4, \"pixels-per-block\": 10}"},
	{"shuffle", "{\"elementsize\": 4}"},
	{"transpose", "{\"order\": [1, 0]}"},
	{"delta", "{\"dtype\": \"<i4\", \"astype\": \"<i2\"}"},
	{"fixedscaleoffset",
		"{\"offset\": 1, \"scale\": 10, \"dtype\": \"<f8\", \"astype\": \"<i2\"}"},
	{"quantize", "{\"digits\": 2, \"dtype\": \"<f8\", \"astype\": \"<f4\"}"},
	{"bitround", "{\"keepbits\": 5}"},
	{"astype", "{\"encode_dtype\": \"<f4\", \"decode_dtype\": \"<i8\"}"},
	{"packbits", "{}"},
	{"categorize", "{\"labels\": [\"a\", \"bc\"], \"dtype\": \"<U2\", \"astype\": \"|u1\"}"},
	{"vlen-utf8", "{}"},
	{"vlen-bytes", "{}"},
	{"vlen-array", "{\"dtype\": \"<i4\"}"},
	{"json2", "{}"},
	{"msgpack2", "{}"},
	{"zfpy", "{}"},
	{"sharding_indexed",
		"{\"chunk_shape\": [1, 1], \"codecs\": [{\"name\": \"bytes\", \"configuration\": "
		"{\"endian\": \"little\"}}], \"index_codecs\": [{\"name\": \"bytes\", "
		"\"configuration\": {\"endian\": \"little\"}}]}"},
	{"sharding_indexed",
		"{\"chunk_shape\": [1, 1], \"codecs\": [\"vlen-utf8\", \"zstd\"], "
		"\"index_location\": \"start\", \"index_codecs\": [{\"name\": \"bytes\", "
		"\"configuration\": {\"endian\": \"big\"}}]}"},
	{"pcodec", "{}"},
	{"packbits", "{\"padding_encoding\": \"first_byte\", \"first_bit\": 1}"},
	{"scale_offset", "{\"offset\": 1, \"scale\": 3}"},
	{"cast_value", "{\"data_type\": \"float16\", \"out_of_range\": \"wrap\"}"},
	{"cast_value",
		"{\"data_type\": \"float8_e5m2\", \"rounding\": \"towards-zero\", "
		"\"out_of_range\": \"clamp\", \"scalar_map\": {\"decode\": [[\"NaN\", 0]]}}"},
	{"reshape", "{\"shape\": [-1]}"},
	{"zfp", "{\"mode\": \"fixed_accuracy\", \"tolerance\": 0.01}"},
	{"zfp", "{\"mode\": \"expert\", \"minbits\": 1, \"maxbits\": 16658, \"maxprec\": 64, "
		"\"minexp\": -1074}"},
	{"sharding_indexed",
		"{\"chunk_shape\": [1, 1], \"codecs\": [{\"name\": \"bytes\", \"configuration\": "
		"{\"endian\": \"big\"}}], \"index_codecs\": [{\"name\": \"transpose\", "
		"\"configuration\": {\"order\": [2, 0, 1]}}, {\"name\": \"bytes\", "
		"\"configuration\": {\"endian\": \"little\"}}, \"numcodecs.fletcher32\"]}"},
	{"bytes", "{\"endian\": \"big\"}"},
};

static const struct dtype dtypes[] = {
	{.kind = DTYPE_INT, .size = 4},
	{.kind = DTYPE_UINT, .size = 1},
	{.kind = DTYPE_INT, .size = 2, .big = true},
	{.kind = DTYPE_INT, .size = 8},
	{.kind = DTYPE_FLOAT, .size = 4},
	{.kind = DTYPE_FLOAT, .size = 8},
	{.kind = DTYPE_BOOL, .size = 1},
	{.kind = DTYPE_RAW, .size = 3},
	{.kind = DTYPE_UNICODE, .size = 8},
	{.kind = DTYPE_BYTES, .size = 5},
	{.kind = DTYPE_VLEN_TEXT, .size = 6},
	{.kind = DTYPE_VLEN_TEXT, .size = 0},
	{.kind = DTYPE_VLEN_BYTES, .size = 4},
};

enum { HEAD = 6, RANK = 2, SCRATCHES = 6, SCRATCH_BYTES = 64 << 10 };

static int
copy_read(struct codec_src *src, uint64_t off, size_t len, void *out)
{
	const uint8_t **data = (const uint8_t **)(src + 1);
	if (off > src->size || len > src->size - off)
		abort();
	memcpy(out, *data + off, len);
	return 0;
}

/* Memory that a decode could show: the output's, and scratch of earlier chunks. */
static void
dirty(uint8_t *out, size_t len, uint8_t with)
{
	memset(out, with, len);
	for (unsigned i = 0; i < SCRATCHES; i++) {
		void *scratch = codec_scratch(i, SCRATCH_BYTES);
		if (!scratch)
			abort();
		memset(scratch, with, SCRATCH_BYTES);
	}
}

/* Equal codes, and equal bytes where there are any: those of the chunk, not what memory held
 * before. */
static void
equal(int r, const uint8_t *a, int again, const uint8_t *b, size_t len)
{
	if (r != again || (r >= 0 && memcmp(a, b, len)))
		abort();
}

/* whole: all of it, or NULL if that is damaged. */
static void
part(const struct codec_chain *c, const struct form *form, struct span in, const uint8_t *whole,
	const size_t range[static 2])
{
	struct {
		struct codec_src src;
		const uint8_t *data;
	} reading = {{.size = in.len, .read = copy_read}, in.data};
	struct codec_src mem = {.size = in.len, .mem = in.data};
	size_t off = range[0] % form->bytes, len = range[1] % (form->bytes - off) + 1;
	uint8_t *a = malloc(len), *b = malloc(len);
	if (!a || !b)
		abort();
	dirty(a, len, 0xaa);
	int r = codec_chain_decode_range(c, &mem, off, len, a);
	dirty(b, len, 0x55);
	equal(r, a, codec_chain_decode_range(c, &reading.src, off, len, b), b, len);
	if (whole)
		equal(r, a, 0, whole + off, len);
	free(a);
	free(b);
	size_t grain;
	if (codec_chain_grain(c, &mem, &grain) == 0 && !grain)
		abort();
}

/* whole: what is changed. The result is that, and decodes. */
static void
patch(const struct codec_chain *c, const struct form *form, struct span in, const uint8_t *whole,
	const size_t range[static 2])
{
	size_t from = range[0] % form->bytes, n = range[1] % (form->bytes - from) + 1;
	struct buf again = {malloc(form->bytes), 0, form->bytes};
	uint8_t *want = malloc(form->bytes);
	if (!again.data || !want)
		abort();
	memcpy(want, whole, form->bytes);
	for (size_t i = from; i < from + n; i++)
		want[i] = (uint8_t)i;
	const struct change change = {from, from + n, want};
	const struct codec_patch p = {&change, change_touches, change_lay};
	CLEAN(buf_free) struct buf out = {0};
	if (codec_chain_patch(c, in, &p, &out) == 0)
		equal(0, want, codec_chain_decode(c, NULL, buf_span(&out), &again), again.data,
			form->bytes);
	free(again.data);
	free(want);
}

static void
use(const struct codec_chain *c, const struct form *form, struct span in, const uint8_t *head)
{
	size_t n = form->bytes, width;
	struct buf out = {malloc(n ? n : 1), 0, n}, again = {malloc(n ? n : 1), 0, n};
	if (!out.data || !again.data)
		abort();
	int r = 0;
	if (n) {
		dirty(out.data, n, 0xaa);
		r = codec_chain_decode(c, NULL, in, &out);
		if (r >= 0 && out.len != n)
			abort();
		dirty(again.data, n, 0x55);
		equal(r, out.data, codec_chain_decode(c, NULL, in, &again), again.data, n);
	}
	codec_chain_width(c, in, &width);
	const size_t range[2] = {(size_t)head[4] * 37, (size_t)head[5] * 53};
	if (n && r >= 0)
		patch(c, form, in, out.data, range);
	if (n && codec_chain_ranged(c))
		part(c, form, in, r >= 0 ? out.data : NULL, range);
	free(out.data);
	free(again.data);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < HEAD)
		return 0;
	const uint8_t *head = data, *end = data + size;
	data += HEAD;
	size_t which = (head[0] & 0x7f) % (sizeof specs / sizeof *specs);
	const char *config = specs[which].config;
	size_t len = strlen(config);
	if (head[0] & 0x80) {
		config = (const char *)data;
		const uint8_t *line = memchr(data, '\n', (size_t)(end - data));
		if (!line)
			return 0;
		len = (size_t)(line - data);
		data = line + 1;
	}
	CLEAN(json_freep) struct json *parsed = NULL;
	if (json_parse(config, len, &parsed) < 0)
		return 0;
	char id[32] = {0};
	memcpy(id, specs[which].id, strlen(specs[which].id));
	const struct dtype *d = &dtypes[head[1] % (sizeof dtypes / sizeof *dtypes)];
	uint64_t shape[RANK] = {head[2] % 64 + 1, head[3] % 64 + 1}, count = shape[0] * shape[1];
	struct form form = {.dtype = d,
		.rank = RANK,
		.shape = shape,
		.count = count,
		.bytes = count * d->size,
		.exact = true};
	struct codec_spec spec = {id, parsed};
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	if (codec_chain_open(&spec, 1, &form, &c) < 0)
		return 0;
	use(c, &form, (struct span){data, (size_t)(end - data)}, head);
	return 0;
}
