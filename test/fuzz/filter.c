/* Hostile chunks and configurations of filters: "ID CONFIG\nDTYPE SHAPE\n" and the chunk. DTYPE and
 * SHAPE are JSON; |O is text of WIDTH. */
#include "base/check.h"
#include "codec/codec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_MAX = 1 << 16, WIDTH = 8 };

struct input {
	struct codec_spec spec;
	struct dtype dtype;
	uint64_t shape[RANK_MAX];
	struct form form;
	struct span chunk;
};

/* What decoding gives comes back when it is encoded and decoded. */
static const char *const exact[] = {"shuffle", "transpose", "packbits", "vlen-utf8", "vlen-bytes"};
static const char *const others[] = {"delta", "fixedscaleoffset", "quantize", "bitround", "astype",
	"categorize", "zfpy", "json2"};

static bool
listed(const char *id, const char *const *list, size_t n)
{
	while (n-- > 0)
		if (!strcmp(list[n], id))
			return true;
	return false;
}

/* The text up to `end`, which is taken off the chunk. */
static struct span
word(struct input *in, char end)
{
	struct span s = in->chunk;
	const uint8_t *p = s.len ? memchr(s.data, end, s.len) : NULL;
	s.len = p ? (size_t)(p - s.data) : s.len;
	size_t used = s.len + (p != NULL);
	in->chunk = (struct span){in->chunk.data + used, in->chunk.len - used};
	return s;
}

static struct json *
json_word(struct input *in, char end)
{
	struct json *j = NULL;
	struct span s = word(in, end);
	return json_parse((const char *)s.data, s.len, &j) == 0 ? j : NULL;
}

static bool
read_form(struct input *in)
{
	CLEAN(json_freep) struct json *type = json_word(in, ' ');
	CLEAN(json_freep) struct json *shape = json_word(in, '\n');
	if (!type || dtype_parse_v2(type, &in->dtype) < 0 || !shape || json_count(shape) > RANK_MAX)
		return false;
	if (in->dtype.kind == DTYPE_OBJECT)
		in->dtype = (struct dtype){.kind = DTYPE_VLEN_TEXT, .size = WIDTH};
	struct form f = {.dtype = &in->dtype, .shape = in->shape, .count = 1, .exact = true};
	f.rank = (unsigned)json_count(shape);
	uint64_t bytes = in->dtype.size;
	for (unsigned i = 0; i < f.rank; i++) {
		if (json_uint(json_at(shape, i), &in->shape[i]) < 0 ||
			mul_over(f.count, in->shape[i], &f.count) ||
			mul_over(bytes, in->shape[i], &bytes))
			return false;
	}
	f.bytes = bytes;
	in->form = f;
	return bytes <= BYTES_MAX && f.count <= BYTES_MAX;
}

static int
decode(const struct codec_chain *c, const struct form *form, struct span in, uint8_t **ret)
{
	*ret = malloc(form->bytes ? form->bytes : 1); /* exactly, for the sanitizer */
	struct buf out = {*ret, 0, form->bytes};
	if (!*ret)
		abort();
	return codec_chain_decode(c, NULL, in, &out);
}

static void
use(const struct input *in, const struct codec_chain *c)
{
	size_t width;
	uint8_t *once, *twice = NULL;
	codec_chain_width(c, in->chunk, &width);
	CLEAN(buf_free) struct buf again = {0};
	if (decode(c, &in->form, in->chunk, &once) == 0 &&
		codec_chain_encode(c, NULL, (struct span){once, in->form.bytes}, &again) == 0) {
		if (again.len > codec_chain_encoded(c)->bytes)
			abort();
		bool ok = decode(c, &in->form, buf_span(&again), &twice) == 0;
		if (!ok && !listed(in->spec.id, others, sizeof others / sizeof *others))
			abort();
		if (listed(in->spec.id, exact, sizeof exact / sizeof *exact) &&
			memcmp(once, twice, in->form.bytes) != 0)
			abort();
	}
	free(once);
	free(twice);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.chunk = {data, size}};
	struct span id = word(&in, ' ');
	in.spec.id = strndup((const char *)id.data, id.len);
	if (!in.spec.id)
		abort();
	in.spec.config = json_word(&in, '\n');
	bool known = listed(in.spec.id, exact, sizeof exact / sizeof *exact) ||
		     listed(in.spec.id, others, sizeof others / sizeof *others);
	if (known && read_form(&in)) {
		CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
		if (codec_chain_open(&in.spec, 1, &in.form, &c) == 0)
			use(&in, c);
	}
	dtype_free(&in.dtype);
	json_freep(&in.spec.config);
	free(in.spec.id);
	return 0;
}
