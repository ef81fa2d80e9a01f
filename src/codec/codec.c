#include "codec/chain_impl.h"

#include "base/check.h"
#include "base/err.h"
#include "codec/widen.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { CHAIN_MAX = 32, LINKS_MAX = CHAIN_MAX + 1 }; /* one more widens elements */

/* Codecs whose file is only built where their library is. */
static const struct {
	const char *id, *library;
} optional[] = {
	{"szip", "libaec"},
	{"zfpy", "libzfp"},
	{"gribberish", "ecCodes"},
	{"numcodecs.zfpy", "libzfp"},
	{"zfp", "libzfp"},
};

static const char *
link_name(const struct codec_link *l)
{
	return l->ops->ids[0];
}

static const struct codec_ops *
find_codec(const struct form *array, const char *id)
{
	for (const struct codec_ops *const *o = array->codecs; *o; o++)
		for (const char *const *i = (*o)->ids; *i; i++)
			if (!strcmp(*i, id))
				return *o;
	return NULL;
}

static int
no_codec(const char *id)
{
	if (!strcmp(id, "pickle"))
		return err_set(-ENOTSUP, "codec 'pickle' is never decoded: it can run code");
	for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
		if (!strcmp(optional[i].id, id))
			return err_set(-ENOTSUP, "codec '%s' needs %s, which this build lacks", id,
				optional[i].library);
	return err_set(-ENOTSUP, "unknown codec '%.100s'", id);
}

static int
open_ops(const struct codec_ops *ops, const struct json *config, const struct form *array,
	const struct form *in, struct codec_link *ret)
{
	struct form out = {0};
	if (ops->kind == CODEC_ARRAY)
		out = *in;
	void *obj = NULL;
	struct form told = *in;
	told.origin = array;
	int r = ops->open(config, &told, &out, &obj);
	if (r < 0)
		return r;
	*ret = (struct codec_link){.ops = ops, .obj = obj, .in = *in, .out = out};
	return 0;
}

static int
open_link(const struct codec_spec *s, const struct form *array, struct codec_chain *c)
{
	const struct codec_ops *ops = find_codec(array, s->id);
	if (!ops)
		return no_codec(s->id);
	struct form in = c->n ? c->link[c->n - 1].out : *array;
	if (c->n && ops->kind == CODEC_PACK && ops->carries) { /* a shard, behind other codecs */
		int r = chain_note_fill(c);
		if (r < 0)
			return r;
		in.fill = c->fill;
	}
	int r = open_ops(ops, s->config, array, &in, &c->link[c->n]);
	return r < 0 ? err_add(r, "codec '%s'", s->id) : 0;
}

/* Before which codec elements are widened: the first that looks at them. SIZE_MAX: none is, or it
 * is done in shards. */
static size_t
widened_before(const struct codec_spec *spec, size_t n, const struct form *array)
{
	if (!array->dtype || !array->dtype->narrow || array->dtype->kind == DTYPE_RAW)
		return SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct codec_ops *ops = find_codec(array, spec[i].id);
		if (!ops || !ops->carries)
			return i;
		if (ops->kind != CODEC_ARRAY)
			return SIZE_MAX;
	}
	return n;
}

int
codec_chain_open_inner(
	const struct codec_spec *spec, size_t n, const struct form *array, struct codec_chain **ret)
{
	if (n > CHAIN_MAX)
		return err_set(
			-ENOTSUP, "%zu codecs in a row, at most %d are supported", n, CHAIN_MAX);
	CLEAN(codec_chain_freep)
	struct codec_chain *c = calloc(1, sizeof *c + (n + 1) * sizeof *c->link);
	if (!c)
		return err_set(-ENOMEM, "out of memory");
	c->array = *array;
	size_t widened = widened_before(spec, n, array), links = n + (widened <= n);
	for (size_t i = 0; c->n < links; c->n++) {
		const struct form *in = c->n ? &c->link[c->n - 1].out : array;
		int r = c->n == widened ? open_ops(&widen_codec, NULL, array, in, &c->link[c->n])
					: open_link(&spec[i++], array, c);
		if (r < 0)
			return r;
	}
	*ret = MOVE(c);
	return 0;
}

struct codec_chain *
codec_chain_free(struct codec_chain *c)
{
	if (!c)
		return NULL;
	while (c->n) {
		struct codec_link *l = &c->link[--c->n];
		if (l->ops->close)
			l->ops->close(l->obj);
	}
	free(c->fill);
	free(c);
	return NULL;
}

static int
check_size(const struct form *f, size_t len, const char *what)
{
	if (f->exact && len != f->bytes)
		return err_set(-EIO, "%s has %zu bytes instead of %zu", what, len, f->bytes);
	if (len > f->bytes)
		return err_set(-EIO, "%s has %zu bytes, but at most %zu are possible", what, len,
			f->bytes);
	return 0;
}

/* What link gives on decoding has form `decoded`; what goes into it then has which form? As said at
 * open, unless the chunk is of another form than that of open. */
static struct form
form_beyond(const struct codec_link *l, const struct form *decoded)
{
	struct form f = l->out;
	if (decoded->bytes == l->in.bytes && decoded->exact == l->in.exact)
		return f;
	if (!l->ops->decode)
		return *decoded;
	uint64_t bytes;
	if (l->ops->kind == CODEC_ARRAY && f.dtype && f.shape == l->in.shape &&
		!mul_over(decoded->count, f.dtype->size, &bytes) && bytes <= f.bytes) {
		f.rank = decoded->rank;
		f.shape = decoded->shape;
		f.count = decoded->count;
		f.bytes = bytes;
		f.exact = decoded->exact;
		return f;
	}
	f.exact = false;
	return f;
}

/* Decodes links n … from + 1 (those behind `from`): the result lies in scratch, or is `in` itself.
 * form[i]: what link i must give. */
static int
decode_behind(const struct codec_chain *c, const struct form *form, size_t from, struct span in,
	struct span *ret)
{
	unsigned turn = 0;
	for (size_t i = c->n; i-- > from;) {
		const struct codec_link *l = &c->link[i];
		if (!l->ops->decode)
			continue;
		struct buf b = {.data = codec_scratch(turn, form[i].bytes), .cap = form[i].bytes};
		if (!b.data)
			return err_set(-ENOMEM, "no memory to decode %zu bytes", form[i].bytes);
		turn ^= 1;
		int r = l->ops->decode(l->obj, &form[i], in, &b);
		if (r >= 0)
			r = check_size(&form[i], b.len, "decoded data");
		if (r < 0)
			return err_add(r, "codec '%s'", link_name(l));
		in = buf_span(&b);
	}
	*ret = in;
	return 0;
}

static void
lay_forms(const struct codec_chain *c, const struct form *form, struct form *ret)
{
	ret[0] = *form;
	for (size_t i = 1; i < c->n; i++)
		ret[i] = form_beyond(&c->link[i - 1], &ret[i - 1]);
}

/* The link that decoding runs last; all before it change nothing. n: there is none. */
static size_t
last_decoder(const struct codec_chain *c)
{
	size_t i = 0;
	while (i < c->n && !c->link[i].ops->decode)
		i++;
	return i;
}

int
codec_chain_decode(
	const struct codec_chain *c, const struct form *form, struct span in, struct buf *out)
{
	form = form ? form : &c->array;
	assert(out->cap >= form->bytes);
	struct form forms[LINKS_MAX];
	lay_forms(c, form, forms);
	size_t last = last_decoder(c);
	int r = decode_behind(c, forms, last < c->n ? last + 1 : c->n, in, &in);
	if (r < 0)
		return r;
	if (last < c->n) {
		const struct codec_link *l = &c->link[last];
		out->len = 0;
		r = l->ops->decode(l->obj, &forms[last], in, out);
		return r < 0 ? err_add(r, "codec '%s'", link_name(l))
			     : check_size(form, out->len, "decoded chunk");
	}
	r = check_size(form, in.len, "stored chunk");
	if (r < 0)
		return r;
	if (in.len)
		memcpy(out->data, in.data, in.len);
	out->len = in.len;
	return 0;
}

int
codec_chain_encode(
	const struct codec_chain *c, const struct form *form, struct span in, struct buf *out)
{
	struct form f = form ? *form : c->array;
	int r = check_size(&f, in.len, "chunk to be encoded");
	if (r < 0)
		return r;
	out->len = 0;
	if (!c->n)
		return buf_add(out, in.data, in.len);
	CLEAN(buf_free) struct buf a = {0};
	CLEAN(buf_free) struct buf b = {0};
	for (size_t i = 0; i < c->n; i++) {
		const struct codec_link *l = &c->link[i];
		if (!l->ops->encode)
			return err_set(-EROFS, "codec '%s' can only be read", link_name(l));
		struct buf *to = i + 1 == c->n ? out : i % 2 ? &b : &a;
		to->len = 0;
		r = l->ops->encode(l->obj, &f, in, to);
		if (r < 0)
			return err_add(r, "codec '%s'", link_name(l));
		f = form_beyond(l, &f);
		in = buf_span(to);
	}
	return 0;
}

int
codec_chain_patch(
	const struct codec_chain *c, struct span was, const struct codec_patch *p, struct buf *out)
{
	const struct codec_link *l = &c->link[0];
	if (c->n != 1 || !l->ops->patch)
		return CODEC_WHOLE;
	out->len = 0;
	return l->ops->patch(l->obj, &c->array, was, p, out);
}

const struct form *
codec_chain_encoded(const struct codec_chain *c)
{
	return c->n ? &c->link[c->n - 1].out : &c->array;
}

const char *
codec_chain_read_only(const struct codec_chain *c)
{
	const char *name = NULL;
	for (size_t i = 0; i < c->n && !name; i++) {
		const struct codec_link *l = &c->link[i];
		if (!l->ops->encode)
			return link_name(l);
		name = l->ops->read_only ? l->ops->read_only(l->obj) : NULL;
	}
	return name;
}

int
codec_chain_load(const struct codec_chain *c)
{
	int r = 0;
	for (size_t i = 0; i < c->n && r == 0; i++)
		r = c->link[i].ops->load ? c->link[i].ops->load(c->link[i].obj) : 0;
	return r;
}

int
codec_chain_lossy(const struct codec_chain *c, struct buf *ret)
{
	int r = 0;
	size_t before = ret->len;
	for (size_t i = 0; i < c->n && r == 0; i++) {
		const struct codec_link *l = &c->link[i];
		if (l->ops->lossy && l->ops->lossy(l->obj))
			r = buf_addf(ret, "%s%s", ret->len > before ? "," : "", link_name(l));
	}
	return r;
}

int
codec_chain_check(const struct codec_chain *c, struct span in)
{
	CLEAN(buf_free) struct buf a = {0};
	CLEAN(buf_free) struct buf b = {0};
	uint64_t n = in.len / c->array.dtype->size;
	struct form f = c->array;
	f.rank = 1;
	f.shape = &n;
	f.count = n;
	f.bytes = in.len;
	for (size_t i = 0; i < c->n; i++) {
		const struct codec_link *l = &c->link[i];
		struct buf *to = in.data == a.data ? &b : &a;
		if (l->ops->carries)
			continue;
		if (!l->ops->each)
			return 0;
		to->len = 0;
		int r = l->ops->encode(l->obj, &f, in, to);
		if (r < 0)
			return err_add(r, "codec '%s'", link_name(l));
		in = buf_span(to);
		f.dtype = l->out.dtype;
		f.bytes = in.len;
	}
	return 0;
}

uint64_t
codec_chain_by_extent(const struct codec_chain *c)
{
	uint64_t most = 0;
	for (size_t i = 0; i < c->n; i++)
		if (c->link[i].ops->by_extent)
			most = max_u64(most, c->link[i].ops->by_extent(c->link[i].obj));
	return most;
}

/* Two buffers take turns, from the outermost codec inwards; the innermost writes into the
 * caller's. */
size_t
codec_chain_scratch(const struct codec_chain *c)
{
	size_t need[2] = {0};
	unsigned turn = 0;
	for (size_t i = c->n, last = last_decoder(c); i-- > last + 1;) {
		const struct codec_link *l = &c->link[i];
		if (!l->ops->decode)
			continue;
		need[turn] = max_u64(need[turn], l->in.bytes);
		turn ^= 1;
	}
	uint64_t sum;
	return add_over(need[0], need[1], &sum) ? SIZE_MAX : sum;
}

/* The one codec that decoding runs; n: none does. False: several do. */
static bool
only_link(const struct codec_chain *c, size_t *ret)
{
	size_t found = c->n;
	for (size_t i = 0; i < c->n; i++) {
		if (!c->link[i].ops->decode)
			continue;
		if (found < c->n)
			return false;
		found = i;
	}
	*ret = found;
	return true;
}

bool
codec_chain_ranged(const struct codec_chain *c)
{
	size_t i;
	return only_link(c, &i) && (i == c->n || c->link[i].ops->decode_range);
}

bool
codec_chain_empty(const struct codec_chain *c)
{
	size_t i;
	return only_link(c, &i) && i == c->n;
}

static int
stored_range(const struct codec_chain *c, struct codec_src *src, size_t off, size_t len, void *out)
{
	int r = check_size(&c->array, src->size, "stored chunk");
	if (r < 0)
		return r;
	if (off > src->size || len > src->size - off)
		return err_set(-EIO, "stored chunk has only %" PRIu64 " bytes", src->size);
	if (!src->mem)
		return src->read(src, off, len, out);
	memcpy(out, src->mem + off, len);
	return 0;
}

int
codec_chain_decode_range(
	const struct codec_chain *c, struct codec_src *src, size_t off, size_t len, void *out)
{
	size_t i;
	if (!codec_chain_ranged(c) || !only_link(c, &i))
		return err_set(-ENOSYS, "these codecs cannot decode a part");
	if (off > c->array.bytes || len > c->array.bytes - off)
		return err_set(-EINVAL, "bytes %zu to %zu of a chunk of %zu", off, off + len,
			c->array.bytes);
	if (!len)
		return 0;
	if (i == c->n)
		return stored_range(c, src, off, len, out);
	const struct codec_link *l = &c->link[i];
	int r = l->ops->decode_range(l->obj, &c->array, src, off, len, out);
	return r < 0 ? err_add(r, "codec '%s'", link_name(l)) : r;
}

int
codec_chain_grain(const struct codec_chain *c, struct codec_src *src, size_t *ret)
{
	size_t i;
	if (!only_link(c, &i))
		return err_set(-ENOSYS, "these codecs cannot decode a part");
	if (i == c->n) {
		*ret = 1;
		return 0;
	}
	const struct codec_link *l = &c->link[i];
	if (!l->ops->grain)
		return err_set(-ENOSYS, "codec '%s' cannot decode a part", link_name(l));
	int r = l->ops->grain(l->obj, &c->array, src, ret);
	return r < 0 ? err_add(r, "codec '%s'", link_name(l)) : r;
}

int
codec_chain_width(const struct codec_chain *c, struct span in, size_t *ret)
{
	struct form forms[LINKS_MAX];
	size_t i = 0;
	while (i < c->n && !c->link[i].ops->width)
		i++;
	if (i == c->n)
		return err_set(-ENOTSUP, "no codec says where elements of variable length end");
	lay_forms(c, &c->array, forms);
	int r = decode_behind(c, forms, i + 1, in, &in);
	if (r < 0)
		return r;
	const struct codec_link *l = &c->link[i];
	r = l->ops->width(l->obj, &forms[i], in, ret);
	return r < 0 ? err_add(r, "codec '%s'", link_name(l)) : r;
}

int
codec_chain_text(const struct codec_spec *spec, size_t n, struct buf *ret)
{
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = buf_addf(ret, "%s%s", i ? "," : "", spec[i].id);
	return r;
}
