/* The filters that make elements of texts and bits of booleans, at their edges; what calculates,
 * where samples cannot tell. */
#include "chain.h"

static const struct dtype text4 = {.kind = DTYPE_VLEN_TEXT, .size = 4};

static void
decodes(const struct codec_chain *c, struct span in, const void *want, size_t n)
{
	CLEAN(clean_free) uint8_t *exact = malloc(n + 1);
	struct buf out = {exact, 0, n};
	CHECK_INT(codec_chain_decode(c, NULL, in, &out), 0);
	CHECK_INT(out.len, n);
	if (n && out.len == n)
		CHECK_MEM(out.data, want, n);
}

static void
says(int r, int code, const char *why)
{
	CHECK_INT(r, code);
	if (!strstr(err_text(), why)) {
		check_failed++;
		fprintf(stderr, "'%s' does not say '%s'\n", err_text(), why);
	}
}

static void
decode_says(const struct codec_chain *c, struct span in, size_t n, const char *why)
{
	CLEAN(clean_free) uint8_t *exact = malloc(n + 1);
	struct buf out = {exact, 0, n};
	says(codec_chain_decode(c, NULL, in, &out), -EIO, why);
}

#define BYTES(text) ((struct span){(const uint8_t *)(text), sizeof(text) - 1})

static void
vlen_edges(void)
{
	struct form f = form_of(&text4, 1, &(uint64_t){2});
	CLEAN(codec_chain_freep) struct codec_chain *c = open_chain("vlen-utf8", "{}", &f);
	const struct {
		struct span in;
		const char *why;
	} bad[] = {
		{BYTES(""), "0 bytes are no elements"},
		{BYTES("\2\0\0"), "3 bytes are no elements"},
		{BYTES("\3\0\0\0"), "3 elements instead of 2"},
		{BYTES("\2\0\0\0"), "truncated at element 0"},
		{BYTES("\2\0\0\0\1\0\0\0a\1\0\0"), "truncated at element 1"},
		{BYTES("\2\0\0\0\1\0\0\0a\2\0\0\0b"), "truncated in element 1 of 2 bytes"},
		{BYTES("\2\0\0\0\1\0\0\0a\xff\xff\xff\xff"),
			"truncated in element 1 of 4294967295 bytes"},
		{BYTES("\2\0\0\0\1\0\0\0a\5\0\0\0bcdef"), "element 1 has 5 bytes, the width is 4"},
		{BYTES("\2\0\0\0\2\0\0\0a\0\1\0\0\0b"), "element 0 of 2 bytes ends in NUL"},
		{BYTES("\2\0\0\0\0\0\0\0\0\0\0\0!"), "1 bytes follow the last element"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		decode_says(c, bad[i].in, f.bytes, bad[i].why);
	decodes(c, BYTES("\2\0\0\0\4\0\0\0\0abc\0\0\0\0"), "\0abc\0\0\0\0", 8);
	decodes(c, BYTES("\2\0\0\0\1\0\0\0\xff\0\0\0\0"), "\xff\0\0\0\0\0\0\0",
		8); /* not ours to judge */
	no_chain("vlen-utf8", "{}", &(struct form){.bytes = 4}, -EINVAL);
	struct dtype number = {.kind = DTYPE_INT, .size = 4};
	struct form numbers = form_of(&number, 1, &(uint64_t){2});
	no_chain("vlen-bytes", "{}", &numbers, -EINVAL);
	struct form many = {.dtype = &text4, .count = UINT64_MAX / 4, .exact = true};
	no_chain("vlen-utf8", "{}", &many, -EINVAL);
}

/* While the width is unknown, the longest element is all there is to ask. */
static void
vlen_width(void)
{
	struct dtype d = {.kind = DTYPE_VLEN_BYTES};
	struct form f = form_of(&d, 2, (const uint64_t[]){1, 3});
	CLEAN(codec_chain_freep) struct codec_chain *c = open_chain("vlen-bytes", "{}", &f);
	size_t width = 77;
	struct span in = BYTES("\3\0\0\0\1\0\0\0a\0\0\0\0\5\0\0\0bcde\0");
	CHECK_INT(codec_chain_width(c, in, &width), 0);
	CHECK_INT(width, 5);
	in.len--;
	says(codec_chain_width(c, in, &width), -EIO, "truncated in element 2");
}

static void
vlen_as_unicode(void)
{
	struct dtype d = {.kind = DTYPE_UNICODE, .size = 8, .big = true};
	struct form f = form_of(&d, 1, &(uint64_t){1});
	CLEAN(codec_chain_freep) struct codec_chain *c = open_chain("vlen-utf8", "{}", &f);
	decodes(c, BYTES("\1\0\0\0\4\0\0\0\xf0\x9f\x98\x80"), "\0\1\xf6\0\0\0\0\0", 8);
	decode_says(c, BYTES("\1\0\0\0\3\0\0\0abc"), 8, "element 0 has more than 2 characters");
	const struct span bad[] = {
		BYTES("\1\0\0\0\1\0\0\0\xff"), BYTES("\1\0\0\0\2\0\0\0\xc3\x28"),
		BYTES("\1\0\0\0\1\0\0\0\xc3"),
		BYTES("\1\0\0\0\2\0\0\0\xc0\x80"),         /* a NUL, too long */
		BYTES("\1\0\0\0\3\0\0\0\xed\xa0\x80"),     /* half of a pair */
		BYTES("\1\0\0\0\4\0\0\0\xf4\x90\x80\x80"), /* behind the last */
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		decode_says(c, bad[i], 8, "element 0 is not UTF-8");
	CLEAN(buf_free) struct buf out = {0};
	says(codec_chain_encode(c, NULL, BYTES("\0\0\xd8\0\0\0\0\0"), &out), -EINVAL,
		"is no character");
	says(codec_chain_encode(c, NULL, BYTES("\0\x11\0\0\0\0\0\0"), &out), -EINVAL,
		"is no character");
}

static void
categorize_edges(void)
{
	struct form f = form_of(&text4, 1, &(uint64_t){3});
	const char *config =
		"{\"labels\": [\"ab\", \"toolong\", \"\"], \"dtype\": \"|O\", \"astype\": \"|i1\"}";
	CLEAN(codec_chain_freep) struct codec_chain *c = open_chain("categorize", config, &f);
	decodes(c, BYTES("\1\0\3"), "ab\0\0\0\0\0\0\0\0\0\0", 12);
	decodes(c, BYTES("\xff\4\1"), "\0\0\0\0\0\0\0\0ab\0\0", 12);
	decode_says(c, BYTES("\1\2\0"), 12, "element 1 has 7 bytes, the width is 4");
	decode_says(c, BYTES("\1\1"), 12, "2 bytes are not 3 numbers");
	size_t width;
	CHECK_INT(codec_chain_width(c, BYTES("\1\0\0"), &width), 0);
	CHECK_INT(width, 2);
	CHECK_INT(codec_chain_width(c, BYTES("\1\2\0"), &width), 0);
	CHECK_INT(width, 7);
	CLEAN(buf_free) struct buf out = {0};
	says(codec_chain_encode(c, NULL, BYTES("ab\0\0\0\0\0\0cd\0\0"), &out), -ERANGE,
		"element 2 'cd' is none of the labels");
	static const char *const bad[] = {
		"{}",
		"{\"labels\": 1}",
		"{\"labels\": [1]}",
		"{\"labels\": [], \"astype\": \"?!\"}",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		no_chain("categorize", bad[i], &f, -EINVAL);
	no_chain("categorize", "{\"labels\": [], \"astype\": \"<f4\"}", &f, -ENOTSUP);
	struct dtype u2 = {.kind = DTYPE_UNICODE, .size = 8};
	struct form unicode = form_of(&u2, 1, &(uint64_t){3});
	no_chain("categorize", "{\"labels\": [], \"dtype\": \"<U3\"}", &unicode, -EINVAL);
}

/* 300 labels are more than one byte can number. */
static void
categorize_out_of_numbers(void)
{
	CLEAN(buf_free) struct buf config = {0};
	buf_addf(&config, "{\"labels\": [\"0\"");
	for (int i = 1; i < 300; i++)
		buf_addf(&config, ", \"%d\"", i);
	buf_addf(&config, "]}");
	CHECK_INT(buf_terminate(&config), 0);
	struct form f = form_of(&text4, 1, &(uint64_t){1});
	CLEAN(codec_chain_freep)
	struct codec_chain *c = open_chain("categorize", (char *)config.data, &f);
	CLEAN(buf_free) struct buf out = {0};
	CHECK_INT(codec_chain_encode(c, NULL, BYTES("254\0"), &out), 0);
	CHECK(out.len == 1 && out.data[0] == 255);
	says(codec_chain_encode(c, NULL, BYTES("255\0"), &out), -EINVAL, "label 256 has no number");
}

static void
packbits_edges(void)
{
	struct dtype d = {.kind = DTYPE_BOOL, .size = 1};
	struct form f = form_of(&d, 1, &(uint64_t){10});
	CLEAN(codec_chain_freep) struct codec_chain *c = open_chain("packbits", "{}", &f);
	decodes(c, BYTES("\6\xa0\x40"), "\1\0\1\0\0\0\0\0\0\1", 10);
	decode_says(c, BYTES(""), 10, "truncated");
	decode_says(c, BYTES("\6"), 10, "truncated");
	decode_says(c, BYTES("\6\xa0"), 10, "2 bytes instead of 10");
	decode_says(c, BYTES("\5\xa0\x40"), 10, "more than 10 bits");
	decode_says(c, BYTES("\x08\xa0\x40\0"), 10, "damaged");
	CLEAN(buf_free) struct buf out = {0};
	CHECK_INT(codec_chain_encode(c, NULL, BYTES("\1\0\2\0\0\0\0\0\0\xff"), &out), 0);
	CHECK(out.len == 3 && !memcmp(out.data, "\6\xa0\x40", 3));
	struct form wide = form_of(&text4, 1, &(uint64_t){2});
	no_chain("packbits", "{}", &wide, -EINVAL);
}

static void
booleans_have_a_sum(void)
{
	struct dtype d = {.kind = DTYPE_BOOL, .size = 1};
	struct form f = form_of(&d, 1, &(uint64_t){6});
	CLEAN(codec_chain_freep)
	struct codec_chain *c = open_chain("delta", "{\"dtype\": \"|b1\"}", &f);
	both_ways(c, BYTES("\1\1\0\0\1\0"), BYTES("\1\0\1\0\1\1"));
}

static void
numbers_as_text(void)
{
	struct dtype d = {.kind = DTYPE_INT, .size = 2, .big = true};
	struct form f = form_of(&d, 1, &(uint64_t){2});
	CLEAN(codec_chain_freep)
	struct codec_chain *c = open_chain("fixedscaleoffset",
		"{\"offset\": \"5\", \"scale\": \"2\", \"dtype\": \">i2\", \"astype\": \"|u1\"}",
		&f);
	both_ways(c, BYTES("\0\7\0\5"), BYTES("\4\0"));
}

/* The array has 8-byte times, the filter sees pairs of 4-byte integers: numpy's view() does that,
 * too. */
static void
dtypes_of_other_sizes(void)
{
	struct dtype d = {.kind = DTYPE_DATETIME, .size = 8};
	struct form f = form_of(&d, 1, &(uint64_t){1});
	CLEAN(codec_chain_freep)
	struct codec_chain *c =
		open_chain("astype", "{\"decode_dtype\": \"<u4\", \"encode_dtype\": \"|u1\"}", &f);
	both_ways(c, BYTES("\1\0\0\0\2\0\0\0"), BYTES("\1\2"));
	struct dtype complex = {.kind = DTYPE_COMPLEX, .size = 16};
	struct form one = form_of(&complex, 1, &(uint64_t){1});
	CLEAN(codec_chain_freep)
	struct codec_chain *halves = open_chain(
		"astype", "{\"decode_dtype\": \"<c16\", \"encode_dtype\": \">c8\"}", &one);
	both_ways(halves, BYTES("\0\0\0\0\0\0\360\77\0\0\0\0\0\0\0\300"),
		BYTES("\77\200\0\0\300\0\0\0"));
	no_chain("delta", "{\"dtype\": \"<M8[s]\"}", &f, -ENOTSUP);
	no_chain("astype", "{\"decode_dtype\": \"<M8[s]\", \"encode_dtype\": \"<M8[ms]\"}", &f,
		-ENOTSUP);
	no_chain("astype", "{\"decode_dtype\": \"<M8[s]\", \"encode_dtype\": \"<f8\"}", &f,
		-ENOTSUP);
	no_chain("astype", "{\"decode_dtype\": \"<c16\", \"encode_dtype\": \"<f8\"}", &f, -ENOTSUP);
	no_chain("astype", "{\"decode_dtype\": \"<i8\"}", &f, -EINVAL);
	f.bytes = 7;
	no_chain("delta", "{\"dtype\": \"<i4\"}", &f, -EINVAL);
}

static void
bad_configs(void)
{
	struct dtype d = {.kind = DTYPE_FLOAT, .size = 4};
	struct form f = form_of(&d, 1, &(uint64_t){4});
	static const struct {
		const char *id, *config;
		int code;
	} rows[] = {
		{"delta", "{}", -EINVAL},
		{"delta", "{\"dtype\": 4}", -EINVAL},
		{"delta", "{\"dtype\": \"<U4\"}", -ENOTSUP},
		{"fixedscaleoffset", "{\"dtype\": \"<f4\", \"scale\": 2}", -EINVAL},
		{"fixedscaleoffset", "{\"dtype\": \"<f4\", \"scale\": 0, \"offset\": 1}", -EINVAL},
		{"fixedscaleoffset", "{\"dtype\": \"<f4\", \"scale\": NaN, \"offset\": 1}",
			-EINVAL},
		{"fixedscaleoffset", "{\"dtype\": \"<f4\", \"scale\": [], \"offset\": 1}", -EINVAL},
		{"quantize", "{\"dtype\": \"<i4\", \"digits\": 1}", -EINVAL},
		{"quantize", "{\"dtype\": \"<f4\", \"digits\": 1000}", -EINVAL},
		{"json2", "{}", -ENOTSUP},
		{"msgpack2", "{}", -ENOTSUP},
		{"vlen-array", "{\"dtype\": \"<i4\"}", -ENOTSUP},
		{"pickle", "{}", -ENOTSUP},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		no_chain(rows[i].id, rows[i].config, &f, rows[i].code);
}

static void
bitround_reads_anything(void)
{
	struct dtype d = {.kind = DTYPE_FLOAT, .size = 4};
	struct form f = form_of(&d, 1, &(uint64_t){1});
	CLEAN(codec_chain_freep) struct codec_chain *c = open_chain("bitround", "{}", &f);
	CHECK(codec_chain_empty(c));
	CLEAN(buf_free) struct buf out = {0};
	says(codec_chain_encode(c, NULL, BYTES("\0\0\0\0"), &out), -EINVAL, "keepbits");
	CLEAN(codec_chain_freep)
	struct codec_chain *one = open_chain("bitround", "{\"keepbits\": 1}", &f);
	CHECK_INT(codec_chain_encode(one, NULL, BYTES("\xff\xff\xff\x7f"), &out), 0);
	CHECK_MEM(out.data, "\xff\xff\xff\x7f", 4); /* a NaN stays one */
}

static void
differences_fit(void)
{
	static const int32_t far[3] = {5, 32000, -32000};
	const struct dtype d = {.kind = DTYPE_INT, .size = 4};
	struct form f = form_of(&d, 1, &(uint64_t){3});
	CLEAN(codec_chain_freep)
	struct codec_chain *c =
		open_chain("delta", "{\"dtype\": \"<i4\", \"astype\": \"<i2\"}", &f);
	CLEAN(buf_free) struct buf out = {0};
	says(codec_chain_encode(c, NULL, (struct span){(const uint8_t *)far, sizeof far}, &out),
		-ERANGE, "too large for the stored type");
}

int
main(void)
{
	differences_fit();
	vlen_edges();
	vlen_width();
	vlen_as_unicode();
	categorize_edges();
	categorize_out_of_numbers();
	packbits_edges();
	booleans_have_a_sum();
	numbers_as_text();
	dtypes_of_other_sizes();
	bad_configs();
	bitround_reads_anything();
	return check_end();
}
