/* pcodec: streams of all format versions, types, modes and deltas (test/data/make-pcodec.py) give
 * their numbers, and nothing when they are cut, of another type or for another count; what no valid
 * stream says is an error that names its field. */
#include "codec_test.h"

#include <dirent.h>

enum { SAMPLE_MAX = 1 << 17, FLIPS = 150, CUTS = 300 };

struct sample {
	struct dtype dtype;
	uint64_t count;
	struct span stream, numbers;
};

static void
form_of(const struct dtype *d, uint64_t count, struct array *a)
{
	a->dtype = *d;
	a->shape[0] = count;
	a->form = (struct form){
		.dtype = &a->dtype,
		.rank = 1,
		.shape = a->shape,
		.count = count,
		.bytes = count * d->size,
		.exact = true,
	};
}

/* The code, and the numbers where it is 0, in *ret. */
static int
decode_as(const struct dtype *d, uint64_t count, const uint8_t *stream, size_t len, uint8_t **ret)
{
	struct array a;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	form_of(d, count, &a);
	int r = codec_chain_open(
		&(struct codec_spec){(char[]){"numcodecs.pcodec"}, NULL}, 1, &a.form, &c);
	CHECK_INT(r, 0);
	if (r == 0)
		*ret = decode(c, &a.form, stream, len, &r);
	return r;
}

static void
refused(const struct dtype *d, uint64_t count, const uint8_t *stream, size_t len)
{
	uint8_t *got = NULL;
	CHECK_INT(decode_as(d, count, stream, len, &got), -EIO);
	free(got);
}

/* Bits turned: an error, or other numbers, but the same ones whatever memory held before. */
static void
flips(const struct sample *s)
{
	CLEAN(clean_free) uint8_t *copy = malloc(s->stream.len);
	if (!copy)
		abort();
	memcpy(copy, s->stream.data, s->stream.len);
	for (unsigned i = 0; i < FLIPS; i++) {
		size_t at =
			check_random(&seed) % (i % 2 || s->stream.len < 60 ? s->stream.len : 60);
		copy[at] ^= (uint8_t)(1u << check_random(&seed) % 8);
		CLEAN(clean_free) uint8_t *one = NULL, *other = NULL;
		int r = decode_as(&s->dtype, s->count, copy, s->stream.len, &one);
		codec_scratch_free();
		CHECK_INT(decode_as(&s->dtype, s->count, copy, s->stream.len, &other), r);
		if (one && other)
			CHECK_MEM(one, other, s->numbers.len);
		copy[at] = s->stream.data[at];
	}
}

static void
use(const struct sample *s)
{
	CLEAN(clean_free) uint8_t *got = NULL;
	CHECK_INT(decode_as(&s->dtype, s->count, s->stream.data, s->stream.len, &got), 0);
	if (got)
		CHECK_MEM(got, s->numbers.data, s->numbers.len);
	size_t step = s->stream.len / CUTS + 1;
	for (size_t len = 0; len < s->stream.len; len += len < 40 ? 1 : step)
		refused(&s->dtype, s->count, s->stream.data, len);
	refused(&s->dtype, s->count + 1, s->stream.data, s->stream.len);
	if (s->count > 1)
		refused(&s->dtype, s->count - 1, s->stream.data, s->stream.len);
	struct dtype other = s->dtype;
	other.kind = other.kind == DTYPE_UINT ? DTYPE_INT : DTYPE_UINT;
	if (s->count)
		refused(&other, s->count, s->stream.data, s->stream.len);
	if (s->count)
		flips(s);
}

static void
read_sample(const char *name, const uint8_t *bytes, size_t len)
{
	const uint8_t *line = memchr(bytes, '\n', len);
	CLEAN(json_freep) struct json *head = NULL;
	if (!line || json_parse((const char *)bytes, (size_t)(line - bytes), &head) < 0)
		abort();
	struct sample s = {0};
	int64_t stream = 0, count = 0;
	CHECK_INT(dtype_parse_v2(json_get(head, "dtype"), &s.dtype), 0);
	CHECK_INT(codec_number(head, "count", 0, 0, SAMPLE_MAX, &count), 0);
	CHECK_INT(codec_number(head, "bytes", 0, 0, SAMPLE_MAX, &stream), 0);
	size_t at = (size_t)(line + 1 - bytes);
	s.count = (uint64_t)count;
	s.stream = (struct span){bytes + at, (size_t)stream};
	s.numbers = (struct span){bytes + at + stream, s.count * s.dtype.size};
	CHECK_INT(len, at + s.stream.len + s.numbers.len);
	int before = check_failed;
	use(&s);
	if (check_failed > before)
		fprintf(stderr, "… of sample '%s'\n", name);
}

static void
samples(const char *data)
{
	char path[4096];
	unsigned n = 0;
	snprintf(path, sizeof path, "%s/pcodec", data);
	DIR *d = opendir(path);
	CHECK(d);
	CLEAN(clean_free) uint8_t *bytes = malloc(SAMPLE_MAX);
	if (!bytes)
		abort();
	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/pcodec/%s", data, e->d_name);
		FILE *f = fopen(path, "rb");
		if (!f)
			abort();
		read_sample(e->d_name, bytes, fread(bytes, 1, SAMPLE_MAX, f));
		fclose(f);
		n++;
	}
	CHECK(n > 100);
	if (d)
		closedir(d);
}

/* Fields "value/width …", `|` where bits are filled up to a byte, as a stream of 32-bit integers
 * behind its head (format 4.1). */
static size_t
pack(const char *fields, uint8_t *to)
{
	static const uint8_t head[] = {'p', 'c', 'o', '!', 3, 0, 0, 4, 1};
	memcpy(to, head, sizeof head);
	size_t bit = sizeof head * 8;
	for (const char *p = fields; *p;) {
		unsigned long long v;
		unsigned width;
		int used = 0;
		if (*p == '|') {
			bit = (bit + 7) / 8 * 8;
			p += 1 + (p[1] == ' ');
			continue;
		}
		if (sscanf(p, "%llu/%u %n", &v, &width, &used) != 2)
			abort();
		for (unsigned i = 0; i < width; i++, bit++)
			to[bit / 8] |= (uint8_t)((v >> i & 1) << bit % 8);
		p += used;
	}
	return (bit + 7) / 8;
}

static const struct {
	const char *fields, *error;
} wrong[] = {
	{"4/8", "'type' is int64 instead of int32"},
	{"12/8", "'type' is 12, which is not known"},
	{"3/8 9/24", "'count' is 10 where 9 numbers are missing"},
	{"3/8 7/24 0/4 0/4 0/4 1/15 1/32 0/6 | 0/8", "1 numbers are missing"},
	{"3/8 8/24 5/4", "'mode' is 5, which is not known"},
	{"3/8 8/24 1/4 0/32", "'int base' is 0"},
	{"3/8 8/24 2/4 1/32", "'float base' of integers"},
	{"3/8 8/24 3/4 4/8", "'quantization' of 4 bits for type int32"},
	{"3/8 8/24 4/4 33554431/25 | 0/32", "truncated in 'dict'"},
	{"3/8 8/24 4/4 1/25 1/2", "bits after 'dict count' are not 0"},
	{"3/8 8/24 0/4 4/4", "'delta variant' is 4, which is not known"},
	{"3/8 8/24 0/4 1/4 0/3", "'delta order' is 0"},
	{"3/8 8/24 0/4 2/4 24/5 0/4 0/1", "'window log' 25 with 'state log' 0"},
	{"3/8 8/24 0/4 2/4 3/5 5/4 0/1", "'window log' 4 with 'state log' 5"},
	{"3/8 8/24 0/4 3/4 0/5 0/64 0/5 0/32", "'conv weight' and 'conv bias' are too large"},
	{"3/8 8/24 0/4 0/4 15/4 2/15", "primary latents: 'ANS size log' is 15 for 2 bins"},
	{"3/8 8/24 0/4 0/4 1/4 1/15", "'ANS size log' is 1 for 1 bins"},
	{"3/8 8/24 0/4 0/4 1/4 3/15", "'ANS size log' is 1 for 3 bins"},
	{"3/8 8/24 0/4 0/4 14/4 16384/15 0/60", "truncated in 'bins'"},
	{"3/8 8/24 0/4 0/4 0/4 1/15 0/32 33/6", "'bin offset bits' are 33 for latents of 32"},
	{"3/8 8/24 0/4 0/4 2/4 2/15 1/2 0/32 0/6 0/2 1/32 0/6",
		"'bin weight': their sum is not 2^2"},
	{"3/8 8/24 0/4 0/4 0/4 1/15 0/32 0/6 15/4", "bits after 'chunk metadata' are not 0"},
	{"3/8 8/24 0/4 2/4 3/5 0/4 0/1 0/4 1/15 17/32 0/6 0/4 1/15 0/32 0/6 | 0/64",
		"'delta bin' 0 begins outside the window"},
	{"3/8 8/24 0/4 2/4 3/5 0/4 0/1 0/4 1/15 9/32 4/6 0/4 1/15 0/32 0/6 | 0/32 | 255/64",
		"a lookback lies outside the window of 16"},
	{"3/8 8/24 0/4 0/4 0/4 0/15 | 0/8", "primary latents: 'bin count' is 0"},
	{"3/8 8/24 0/4 1/4 2/3 0/1 0/4 1/15 0/32 0/6 | 0/40", "truncated in 'delta state'"},
	{"3/8 8/24 0/4 0/4 0/4 1/15 0/32 5/6 | 0/40", "truncated in 'offsets'"},
	{"3/8 8/24 0/4 0/4 0/4 1/15 0/32 1/6 | 0/9 1/1 0/8", "bits after 'page' are not 0"},
	{"3/8 8/24 4/4 1/25 | 5/32 0/4 0/4 1/15 1/32 0/6 | 0/8",
		"an index lies outside the 'dict' of 1"},
	{"3/8 8/24 0/4 0/4 0/4 1/15 0/32 0/6 |", "chunk 1 of the stream: truncated in 'type'"},
};

static void
names_fields(void)
{
	const struct dtype i4 = {.kind = DTYPE_INT, .size = 4};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		uint8_t stream[256] = {0};
		refused(&i4, 9, stream, pack(wrong[i].fields, stream));
		CHECK(strstr(err_text(), "codec 'pcodec': "));
		CHECK(strstr(err_text(), wrong[i].error));
		if (!strstr(err_text(), wrong[i].error))
			fprintf(stderr, "… not '%s'\n", wrong[i].error);
	}
	uint8_t stream[256] = {0};
	size_t len = pack("3/8 8/24 0/4 0/4 0/4 1/15 2147483653/32 0/6 | 0/8", stream);
	uint8_t *got = NULL;
	CHECK_INT(decode_as(&i4, 9, stream, len, &got), 0);
	if (got)
		CHECK_MEM(got, &(int32_t){5}, 4);
	free(got);
	stream[4] = 4;
	refused(&i4, 9, stream, len);
	CHECK(strstr(err_text(), "'standalone version' 4 is not supported"));
	stream[4] = 3;
	stream[7] = 5;
	refused(&i4, 9, stream, len);
	CHECK(strstr(err_text(), "'format version' 5 is not supported"));
	stream[0] = 'P';
	refused(&i4, 9, stream, len);
	CHECK(strstr(err_text(), "it does not begin with 'pco!'"));
}

static void
opens(struct dtype d, int want)
{
	struct array a;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	form_of(&d, 3, &a);
	CHECK_INT(codec_chain_open(&(struct codec_spec){(char[]){"pcodec"}, NULL}, 1, &a.form, &c),
		want);
}

/* Times are 64-bit integers, complex numbers two floats; whatever else is no number is refused
 * before any chunk. */
static void
types(void)
{
	opens((struct dtype){.kind = DTYPE_DATETIME, .size = 8}, 0);
	opens((struct dtype){.kind = DTYPE_TIMEDELTA, .size = 8}, 0);
	opens((struct dtype){.kind = DTYPE_COMPLEX, .size = 16}, 0);
	opens((struct dtype){.kind = DTYPE_FLOAT, .size = 2}, 0);
	opens((struct dtype){.kind = DTYPE_UINT, .size = 1, .big = true}, 0);
	opens((struct dtype){.kind = DTYPE_INT, .size = 4, .big = true}, -EINVAL);
	opens((struct dtype){.kind = DTYPE_BOOL, .size = 1}, -EINVAL);
	opens((struct dtype){.kind = DTYPE_RAW, .size = 4}, -EINVAL);
	opens((struct dtype){.kind = DTYPE_FLOAT, .size = 16}, -EINVAL);
	opens((struct dtype){.kind = DTYPE_VLEN_TEXT, .size = 4}, -EINVAL);
}

int
main(void)
{
	const char *data = getenv("ZARRFS_TEST_DATA");
	CHECK(data);
	if (data)
		samples(data);
	names_fields();
	types();
	codec_scratch_free();
	return check_end();
}
