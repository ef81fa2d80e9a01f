/* categorize (numcodecs): a text is stored as the number of its label, counted from 1; 0 and
 * numbers beyond stand for the empty text. */
#include "base/check.h"
#include "base/err.h"
#include "codec/codec.h"
#include "codecs/number.h"
#include "codecs/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct label {
	struct span text; /* in categorize.texts */
	uint64_t code;
};

struct categorize {
	struct dtype decoded; /* the array's, in the byte order of the config; nothing owned */
	struct dtype encoded;
	struct buf texts;
	struct label *label, *sorted; /* by code; by text, then code */
	size_t count;
};

static int
compare(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.data, b.data, n) : 0;
	return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int
compare_labels(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	int c = compare(x->text, y->text);
	return c ? c : (x->code > y->code) - (x->code < y->code);
}

static void
categorize_close(void *state)
{
	struct categorize *c = state;
	if (!c)
		return;
	dtype_free(&c->encoded);
	buf_free(&c->texts);
	free(c->label);
	free(c->sorted);
	free(c);
}

static int
read_labels(const struct json *labels, struct categorize *c)
{
	c->count = json_count(labels);
	c->label = calloc(c->count + 1, sizeof *c->label);
	c->sorted = calloc(c->count + 1, sizeof *c->sorted);
	if (!c->label || !c->sorted)
		return err_set(-ENOMEM, "out of memory");
	for (size_t i = 0; i < c->count; i++) {
		size_t len = 0;
		const struct json *j = json_at(labels, i);
		const char *text = json_type(j) == JSON_TYPE_TEXT ? json_text(j, &len) : NULL;
		if (!text)
			return err_set(-EINVAL, "label %zu is %s", i, json_type_name(j));
		int r = buf_add(&c->texts, text, len);
		if (r < 0)
			return r;
		c->label[i] = (struct label){{NULL, len}, i + 1};
	}
	size_t at = 0;
	for (size_t i = 0; i < c->count; at += c->label[i++].text.len)
		if (c->texts.data) /* not where all labels are empty */
			c->label[i].text.data = c->texts.data + at;
	memcpy(c->sorted, c->label, c->count * sizeof *c->label);
	qsort(c->sorted, c->count, sizeof *c->sorted, compare_labels);
	return 0;
}

/* The config's dtype only matters for its byte order. */
static int
read_decoded(const struct json *config, const struct form *in, struct categorize *c)
{
	bool text = in->dtype &&
		    (in->dtype->kind == DTYPE_UNICODE || in->dtype->kind == DTYPE_VLEN_TEXT);
	if (!text)
		return err_set(-EINVAL, "only text can be categorized");
	c->decoded = *in->dtype;
	const struct json *j = config ? json_get(config, "dtype") : NULL;
	if (!j || in->dtype->kind != DTYPE_UNICODE)
		return 0;
	struct dtype d = {0};
	int r = dtype_parse_v2(j, &d);
	if (r < 0)
		return err_add(r, "'dtype'");
	if (d.kind != DTYPE_UNICODE || d.size != in->dtype->size)
		r = err_set(-EINVAL, "'dtype' is not that of the array");
	c->decoded.big = d.big;
	dtype_free(&d);
	return r;
}

static int
read_encoded(const struct json *config, struct categorize *c)
{
	const struct json *j = config ? json_get(config, "astype") : NULL;
	if (!j) {
		c->encoded = (struct dtype){.kind = DTYPE_UINT, .size = 1};
		return 0;
	}
	int r = dtype_parse_v2(j, &c->encoded);
	if (r < 0)
		return err_add(r, "'astype'");
	if (c->encoded.kind != DTYPE_UINT && c->encoded.kind != DTYPE_INT)
		return err_set(-ENOTSUP, "'astype' is no integer");
	return 0;
}

static int
categorize_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct categorize *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "out of memory");
	const struct json *labels = config ? json_get(config, "labels") : NULL;
	int r = read_decoded(config, in, c);
	if (r >= 0)
		r = read_encoded(config, c);
	if (r >= 0 && (!labels || json_type(labels) != JSON_TYPE_LIST))
		r = err_set(-EINVAL, "no list of 'labels'");
	if (r >= 0)
		r = read_labels(labels, c);
	uint64_t bytes = 0;
	if (r >= 0 && (mul_over(in->count, c->encoded.size, &bytes) || bytes > SIZE_MAX / 2))
		r = err_set(-EINVAL, "chunk is too large");
	if (r < 0) {
		categorize_close(c);
		return r;
	}
	out->dtype = &c->encoded;
	out->bytes = bytes;
	*ret = c;
	return 0;
}

static const struct label *
label_of(const struct categorize *c, union number v)
{
	static const struct label none = {0};
	return v.u - 1 < c->count ? &c->label[v.u - 1] : &none; /* 0 and negative numbers wrap */
}

static int
check_input(const struct categorize *c, const struct form *form, struct span in)
{
	if (in.len / c->encoded.size != form->count || in.len % c->encoded.size)
		return err_set(-EIO, "%zu bytes are not %" PRIu64 " numbers of %u", in.len,
			form->count, c->encoded.size);
	return 0;
}

static int
categorize_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct categorize *c = state;
	struct dtype d = c->decoded;
	d.size = form->dtype ? form->dtype->size : d.size;
	uint64_t bytes;
	int r = check_input(c, form, in);
	if (r < 0)
		return r;
	if (mul_over(form->count, d.size, &bytes) || bytes > out->cap)
		return err_set(-EIO, "%" PRIu64 " elements do not fit in %zu bytes", form->count,
			out->cap);
	for (uint64_t i = 0; i < form->count; i++) {
		union number v;
		number_load(&c->encoded, in.data + i * c->encoded.size, 1, &v);
		r = text_fit(&d, i, label_of(c, v)->text, out->data + i * d.size);
		if (r < 0)
			return r;
	}
	out->len = bytes;
	return 0;
}

static int
categorize_width(const void *state, const struct form *form, struct span in, size_t *ret)
{
	const struct categorize *c = state;
	int r = check_input(c, form, in);
	if (r < 0)
		return r;
	size_t longest = 0;
	for (uint64_t i = 0; i < form->count; i++) {
		union number v;
		number_load(&c->encoded, in.data + i * c->encoded.size, 1, &v);
		longest = max_u64(longest, label_of(c, v)->text.len);
	}
	*ret = longest;
	return 0;
}

/* The last label that is this text; numbers are given so that the last counts. */
static int
find_code(const struct categorize *c, uint64_t i, struct span text, union number *ret)
{
	size_t low = 0, high = c->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (compare(c->sorted[mid].text, text) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	bool found = low && !compare(c->sorted[low - 1].text, text);
	if (!found && text.len)
		return err_set(-ERANGE, "element %" PRIu64 " '%.*s' is none of the labels", i,
			text.len > 80 ? 80 : (int)text.len, text.data);
	ret->u = found ? c->sorted[low - 1].code : 0;
	union number stored = *ret;
	number_cast(&c->encoded, NUMBER_UINT, &stored, 1);
	if (stored.u != ret->u)
		return err_set(-EINVAL, "label %" PRIu64 " has no number of %u bytes", ret->u,
			c->encoded.size);
	return 0;
}

static int
categorize_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct categorize *c = state;
	struct dtype d = c->decoded;
	d.size = form->dtype ? form->dtype->size : d.size;
	if (d.size && in.len / d.size != form->count)
		return err_set(
			-EINVAL, "%zu bytes are not %" PRIu64 " elements", in.len, form->count);
	CLEAN(buf_free) struct buf text = {0};
	int r = buf_reserve(out, form->count * c->encoded.size);
	for (uint64_t i = 0; r >= 0 && i < form->count; i++) {
		union number v;
		text.len = 0;
		r = text_take(&d, i, in.data + i * d.size, &text);
		if (r >= 0)
			r = find_code(c, i, buf_span(&text), &v);
		if (r >= 0)
			number_store(
				&c->encoded, NUMBER_UINT, &v, 1, out->data + i * c->encoded.size);
	}
	if (r < 0)
		return r;
	out->len = form->count * c->encoded.size;
	return 0;
}

const struct codec_ops codec_categorize = {
	.ids = (const char *const[]){"categorize", "numcodecs.categorize", NULL},
	.kind = CODEC_ARRAY,
	.open = categorize_open,
	.close = categorize_close,
	.decode = categorize_decode,
	.encode = categorize_encode,
	.each = true,
	.width = categorize_width,
};
