/* Chunks that numcodecs wrote (test/data/make-filter.py): the same bytes both ways. */
#include "check.h"

#include "codec/codec.h"

#include <errno.h>

enum { FIELDS = 7, MOST = 1 << 16 };

struct sample {
	char *field[FIELDS]; /* codec, config, dtype, shape, how, decoded, encoded */
	struct dtype dtype;
	uint64_t shape[RANK_MAX];
	struct form form;
	uint8_t *decoded, *encoded;
	size_t decoded_len, encoded_len;
};

static uint8_t *
from_hex(const char *s, size_t *len)
{
	*len = strlen(s) / 2;
	uint8_t *p = malloc(*len + 1);
	for (size_t i = 0; i < *len; i++) {
		unsigned v = 0;
		sscanf(s + 2 * i, "%2x", &v);
		p[i] = (uint8_t)v;
	}
	return p;
}

static void
read_type(const char *text, struct dtype *ret)
{
	unsigned n;
	if (sscanf(text, "text:%u", &n) == 1) {
		*ret = (struct dtype){.kind = DTYPE_VLEN_TEXT, .size = n};
	} else if (sscanf(text, "bytes:%u", &n) == 1) {
		*ret = (struct dtype){.kind = DTYPE_VLEN_BYTES, .size = n};
	} else {
		CLEAN(buf_free) struct buf quoted = {0};
		CLEAN(json_freep) struct json *j = NULL;
		buf_addf(&quoted, "\"%s\"", text);
		CHECK_INT(json_parse((char *)quoted.data, quoted.len, &j), 0);
		CHECK_INT(dtype_parse_v2(j, ret), 0);
	}
}

static void
read_form(struct sample *s)
{
	CLEAN(json_freep) struct json *j = NULL;
	CHECK_INT(json_parse(s->field[3], strlen(s->field[3]), &j), 0);
	s->form = (struct form){.dtype = &s->dtype, .shape = s->shape, .count = 1, .exact = true};
	for (size_t i = 0; i < json_count(j); i++) {
		CHECK_INT(json_uint(json_at(j, i), &s->shape[i]), 0);
		s->form.count *= s->shape[i];
	}
	s->form.rank = (unsigned)json_count(j);
	s->form.bytes = s->form.count * s->dtype.size;
	CHECK_INT(s->form.bytes, s->decoded_len);
}

static void
same(const struct sample *s, const char *what, const struct buf *got, const uint8_t *want,
	size_t len)
{
	if (got->len == len && (!len || !memcmp(got->data, want, len)))
		return;
	check_failed++;
	fprintf(stderr, "%s %s %s: %s gives\n", s->field[0], s->field[1], s->field[2], what);
	for (size_t i = 0; i < got->len; i++)
		fprintf(stderr, "%02x", got->data[i]);
	fprintf(stderr, ", not\n");
	for (size_t i = 0; i < len; i++)
		fprintf(stderr, "%02x", want[i]);
	fprintf(stderr, "\n");
}

static void
try_sample(const struct sample *s, const struct codec_chain *c)
{
	CLEAN(buf_free) struct buf encoded = {0};
	if (strcmp(s->field[4], "decode")) {
		struct span in = {s->decoded, s->decoded_len};
		CHECK_INT(codec_chain_encode(c, NULL, in, &encoded), 0);
		same(s, "encoding", &encoded, s->encoded, s->encoded_len);
		CHECK(encoded.len <= codec_chain_encoded(c)->bytes);
	}
	if (strcmp(s->field[4], "encode")) {
		CLEAN(clean_free) uint8_t *exact = malloc(s->decoded_len + 1);
		struct buf out = {exact, 0, s->decoded_len};
		struct span in = {s->encoded, s->encoded_len};
		CHECK_INT(codec_chain_decode(c, NULL, in, &out), 0);
		same(s, "decoding", &out, s->decoded, s->decoded_len);
	}
}

/* Less than all is an error, unless what is missing did not matter (zfp ends in padding). */
static void
cut_short(const struct sample *s, const struct codec_chain *c)
{
	CLEAN(clean_free) uint8_t *out_bytes = malloc(s->decoded_len + 1);
	for (size_t len = 0; len < s->encoded_len; len += 1 + len / 8) {
		CLEAN(clean_free) uint8_t *cut = malloc(len + 1);
		memcpy(cut, s->encoded, len);
		struct buf out = {out_bytes, 0, s->decoded_len};
		int r = codec_chain_decode(c, NULL, (struct span){cut, len}, &out);
		if (r < 0)
			CHECK_INT(r, -EIO);
		else
			same(s, "decoding of a cut chunk", &out, s->decoded, s->decoded_len);
	}
}

static void
run_line(char *line)
{
	struct sample s = {0};
	for (int i = 0; i < FIELDS; i++)
		s.field[i] = strsep(&line, "\t\n");
	read_type(s.field[2], &s.dtype);
	s.decoded = from_hex(s.field[5], &s.decoded_len);
	s.encoded = from_hex(s.field[6], &s.encoded_len);
	read_form(&s);
	CLEAN(json_freep) struct json *config = NULL;
	CHECK_INT(json_parse(s.field[1], strlen(s.field[1]), &config), 0);
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	int r = codec_chain_open(&(struct codec_spec){s.field[0], config}, 1, &s.form, &c);
	if (r == -ENOTSUP && !strcmp(s.field[0], "zfpy")) {
		fprintf(stderr, "without zfpy: %s\n", err_text());
	} else {
		CHECK_INT(r, 0);
		if (r == 0) {
			try_sample(&s, c);
			if (strcmp(s.field[4], "encode"))
				cut_short(&s, c);
		}
	}
	dtype_free(&s.dtype);
	free(s.decoded);
	free(s.encoded);
}

int
main(void)
{
	static char line[MOST];
	snprintf(line, sizeof line, "%s/filter/samples.tsv", getenv("ZARRFS_TEST_DATA"));
	FILE *f = fopen(line, "r");
	CHECK(f != NULL);
	while (f && fgets(line, sizeof line, f))
		run_line(line);
	if (f)
		fclose(f);
	return check_end();
}
