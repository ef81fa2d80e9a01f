/* The filters: shuffle, transpose and what calculates, through chains of one codec. */
#include "chain.h"

static uint8_t *
random_bytes(size_t n)
{
	static uint32_t seed = 1;
	uint8_t *p = malloc(n + 1);
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)check_random(&seed);
	return p;
}

static void
shuffle_size(uint32_t size, uint64_t n, size_t behind)
{
	struct dtype d = {.kind = DTYPE_RAW, .size = size};
	struct form f = form_of(&d, 1, &n);
	f.bytes += behind;
	CLEAN(clean_free) uint8_t *data = random_bytes(f.bytes);
	CLEAN(clean_free) uint8_t *stored = malloc(f.bytes + 1);
	for (size_t i = 0; i < f.bytes; i++)
		stored[i < n * size ? i % size * n + i / size : i] = data[i];
	CLEAN(codec_chain_freep)
	struct codec_chain *c = open_chain("shuffle", "{\"elementsize\": 0}", &f);
	const struct span decoded = {data, f.bytes}, encoded = {stored, f.bytes};
	CLEAN(buf_free) struct buf none = {0};
	if (c && !behind)
		both_ways(c, decoded, encoded);
	else if (c) {
		decodes_to(c, encoded, decoded);
		CHECK_INT(codec_chain_encode(c, NULL, decoded, &none), -ERANGE);
	}
}

static void
shuffle_works(void)
{
	static const uint32_t sizes[] = {1, 2, 3, 4, 5, 8, 12, 13, 16, 32, 2000};
	static const uint64_t counts[] = {0, 1, 15, 16, 17, 33, 1000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
			shuffle_size(sizes[i], counts[k], 0);
	shuffle_size(4, 21, 3);
}

static void
shuffle_sizes_in_config(void)
{
	struct dtype d = {.kind = DTYPE_INT, .size = 2};
	struct form f = form_of(&d, 1, &(uint64_t){4});
	static const struct {
		const char *config, *stored;
	} rows[] = {
		{"{}", "aebfcgdh"},
		{"{\"elementsize\": 0}", "acegbdfh"},
		{"{\"elementsize\": \"0\"}", "acegbdfh"},
		{"{\"elementsize\": \"4\"}", "aebfcgdh"},
		{"{\"elementsize\": 1}", "abcdefgh"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CLEAN(codec_chain_freep)
		struct codec_chain *c = open_chain("shuffle", rows[i].config, &f);
		if (c)
			both_ways(c, (struct span){(const uint8_t *)"abcdefgh", 8},
				(struct span){(const uint8_t *)rows[i].stored, 8});
	}
	no_chain("shuffle", "{\"elementsize\": -1}", &f, -EINVAL);
	no_chain("shuffle", "{\"elementsize\": \"x\"}", &f, -EINVAL);
	no_chain("shuffle", "{\"elementsize\": 0}", &(struct form){.bytes = 8, .exact = true},
		-ENOTSUP);
}

/* NetCDF-C's strings count as the pointers that they are in memory; its chars as bytes. */
static void
shuffle_netcdf_text(void)
{
	static const char *const config = "{\"elementsize\": 0}";
	static const struct span text = {(const uint8_t *)"a\0\0\0\0\0\0\0bcdefghi", 16},
				 split = {(const uint8_t *)"ab\0c\0d\0e\0f\0g\0h\0i", 16};
	const struct dtype string = {.kind = DTYPE_BYTES, .size = 16},
			   chars = {.kind = DTYPE_BYTES, .is_char = true, .size = 1};
	struct form f = form_of(&string, 1, &(uint64_t){1}),
		    c = form_of(&chars, 1, &(uint64_t){16});
	CLEAN(codec_chain_freep) struct codec_chain *a = open_chain("shuffle", config, &f);
	CLEAN(codec_chain_freep) struct codec_chain *b = open_chain("shuffle", config, &c);
	if (a)
		both_ways(a, text, split);
	if (b)
		both_ways(b, text, text);
}

/* A plain loop over all elements, as the definition says it. */
static void
transpose_slowly(const struct form *f, const unsigned *order, const uint8_t *data, uint8_t *ret)
{
	uint64_t at[RANK_MAX] = {0}, shape[RANK_MAX];
	for (unsigned i = 0; i < f->rank; i++)
		shape[i] = f->shape[order[i]];
	for (uint64_t e = 0; e < f->count; e++) {
		uint64_t rest = e, to = 0;
		for (unsigned i = f->rank; i-- > 0; rest /= f->shape[i])
			at[i] = rest % f->shape[i];
		for (unsigned i = 0; i < f->rank; i++)
			to = to * shape[i] + at[order[i]];
		memcpy(ret + to * f->dtype->size, data + e * f->dtype->size, f->dtype->size);
	}
}

static void
transpose_one(uint32_t size, unsigned rank, const uint64_t *shape, const unsigned *order)
{
	struct dtype d = {.kind = DTYPE_RAW, .size = size};
	struct form f = form_of(&d, rank, shape);
	CLEAN(buf_free) struct buf config = {0};
	buf_addf(&config, "{\"order\": [");
	for (unsigned i = 0; i < rank; i++)
		buf_addf(&config, "%s%u", i ? "," : "", order[i]);
	buf_addf(&config, "]}");
	CHECK_INT(buf_terminate(&config), 0);
	CLEAN(clean_free) uint8_t *data = random_bytes(f.bytes);
	CLEAN(clean_free) uint8_t *stored = malloc(f.bytes + 1);
	transpose_slowly(&f, order, data, stored);
	CLEAN(codec_chain_freep)
	struct codec_chain *c = open_chain("transpose", (char *)config.data, &f);
	if (c)
		both_ways(c, (struct span){data, f.bytes}, (struct span){stored, f.bytes});
}

static void
transpose_works(void)
{
	static const uint32_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 20, 300};
	static const struct {
		unsigned rank;
		uint64_t shape[6];
		unsigned order[6];
	} rows[] = {
		{0, {0}, {0}},
		{1, {7}, {0}},
		{2, {0, 3}, {1, 0}},
		{2, {1, 1}, {1, 0}},
		{2, {35, 33}, {1, 0}},
		{2, {300, 5}, {1, 0}},
		{2, {5, 1100}, {1, 0}},
		{3, {1, 37, 19}, {2, 1, 0}},
		{3, {6, 17, 20}, {2, 1, 0}},
		{3, {6, 17, 20}, {0, 1, 2}},
		{3, {6, 17, 20}, {1, 0, 2}},
		{3, {6, 17, 20}, {2, 0, 1}},
		{3, {6, 17, 20}, {1, 2, 0}},
		{5, {3, 1, 4, 5, 6}, {4, 3, 2, 1, 0}},
		{5, {3, 2, 4, 5, 6}, {3, 4, 0, 2, 1}},
		{6, {2, 3, 2, 3, 2, 3}, {0, 5, 1, 4, 2, 3}},
	};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			transpose_one(sizes[s], rows[i].rank, rows[i].shape, rows[i].order);
}

static void
transpose_config(void)
{
	struct dtype d = {.kind = DTYPE_INT, .size = 1};
	struct form f = form_of(&d, 2, (const uint64_t[]){2, 3});
	static const struct {
		const char *config, *stored;
	} rows[] = {
		{"{\"id\": \"transpose\", \"order\": \"F\"}", "adbecf"},
		{"{\"order\": [1, 0]}", "adbecf"},
		{"{\"order\": [\"1\", \"0\"]}", "adbecf"},
		{"{\"order\": \"C\"}", "abcdef"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CLEAN(codec_chain_freep)
		struct codec_chain *c = open_chain("transpose", rows[i].config, &f);
		if (c)
			both_ways(c, (struct span){(const uint8_t *)"abcdef", 6},
				(struct span){(const uint8_t *)rows[i].stored, 6});
	}
	static const char *const bad[] = {
		"{}",
		"{\"order\": 1}",
		"{\"order\": \"X\"}",
		"{\"order\": [0]}",
		"{\"order\": [0, 0]}",
		"{\"order\": [0, 2]}",
		"{\"order\": [0, 1, 2]}",
		"{\"order\": [-1, 0]}",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		no_chain("transpose", bad[i], &f, -EINVAL);
	no_chain("transpose", "{\"order\": \"F\"}", &(struct form){.bytes = 6}, -EINVAL);
}

static void
wrong_length_is_an_error(void)
{
	struct dtype d = {.kind = DTYPE_INT, .size = 2};
	struct form f = form_of(&d, 2, (const uint64_t[]){2, 3});
	static const char *const ids[] = {"shuffle", "transpose"};
	for (size_t i = 0; i < 2; i++) {
		CLEAN(codec_chain_freep)
		struct codec_chain *c = open_chain(ids[i], "{\"order\": \"F\"}", &f);
		uint8_t data[12], in[14] = {0};
		struct buf out = {data, 0, sizeof data};
		CHECK_INT(codec_chain_decode(c, NULL, (struct span){in, 10}, &out), -EIO);
		CHECK_INT(codec_chain_decode(c, NULL, (struct span){in, 14}, &out), -EIO);
		CHECK_INT(codec_chain_decode(c, NULL, (struct span){in, 0}, &out), -EIO);
	}
}

int
main(void)
{
	shuffle_works();
	shuffle_sizes_in_config();
	shuffle_netcdf_text();
	transpose_works();
	transpose_config();
	wrong_length_is_an_error();
	return check_end();
}
