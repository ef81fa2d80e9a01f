/* VAR.npy: the flat file behind NumPy's header, format 1.0 (numpy.lib.format), so that numpy.load
 * knows shape and type and can map it. */
#include "base/check.h"
#include "view/flat.h"
#include "view/state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The elements begin on a page; the header's own length takes two bytes. */
enum { PAGE = 4096, PREAMBLE = 10, HEADER_MAX = 15 * PAGE };

static bool
applies(struct mount *m, const struct node *n)
{
	return n->array && !n->error && n->array->dtype.kind != DTYPE_OBJECT;
}

static void
set_order(struct dtype *t, bool big)
{
	t->big = big;
	for (size_t i = 0; i < t->nfields; i++)
		set_order(&t->field[i].type, big);
}

/* As the file has the elements: in its byte order, those of variable length as bytes of one
 * width. */
static int
shown_type(struct mount *m, const struct node *n, uint32_t width, struct dtype *ret)
{
	int r = dtype_copy(&n->array->dtype, ret);
	if (r < 0)
		return r;
	if (m->options.endian != ENDIAN_STORED)
		set_order(ret, flat_is_big(m));
	if (width) {
		ret->kind = DTYPE_BYTES;
		ret->size = width;
	}
	return 0;
}

/* The next character of UTF-8; bytes that are none are taken as they are. */
static uint32_t
next_char(const char **p)
{
	const uint8_t *s = (const uint8_t *)*p;
	unsigned more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
	uint32_t c = more ? s[0] & (0x3fu >> more) : s[0];
	unsigned n = 1;
	while (n <= more && (s[n] & 0xc0) == 0x80)
		c = c << 6 | (s[n++] & 0x3f);
	if (n <= more || c > 0x10ffff) {
		c = s[0];
		n = 1;
	}
	*p += n;
	return c;
}

/* Format 1.0 is Latin-1 on one line, Python's escapes are read everywhere. */
static int
add_ascii(const char *text, struct buf *ret)
{
	int r = 0;
	while (*text && r == 0) {
		uint32_t c = next_char(&text);
		if (c >= ' ' && c < 0x7f)
			r = buf_addf(ret, "%c", (int)c);
		else
			r = buf_addf(ret, c < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIx32, c);
	}
	return r;
}

static int
add_dict(const struct array_meta *a, const struct dtype *t, struct buf *ret)
{
	CLEAN(clean_free) char *descr = dtype_text(t);
	if (!descr)
		return err_set(-ENOMEM, "no memory for a dtype's name");
	const char *quote = t->kind == DTYPE_STRUCT ? "" : "'";
	int r = buf_addf(ret, "{'descr': %s", quote);
	if (r == 0)
		r = add_ascii(descr, ret);
	if (r == 0)
		r = buf_addf(ret, "%s, 'fortran_order': False, 'shape': (", quote);
	for (unsigned i = 0; i < a->rank && r == 0; i++)
		r = buf_addf(ret, "%s%" PRIu64, i ? ", " : "", a->shape[i]);
	return r < 0 ? r : buf_addf(ret, "%s), }", a->rank == 1 ? "," : "");
}

/* The whole header with its padding. */
static int
make_header(struct mount *m, const struct node *n, uint32_t width, struct buf *ret)
{
	static const char magic[PREAMBLE] = "\x93NUMPY\x01"; /* the length comes last */
	struct dtype t = {0};
	int r = shown_type(m, n, width, &t);
	if (r == 0)
		r = buf_add(ret, magic, PREAMBLE);
	if (r == 0)
		r = add_dict(n->array, &t, ret);
	dtype_free(&t);
	size_t size = round_up(ret->len + 1, PAGE);
	if (r == 0 && size > HEADER_MAX)
		r = err_set(-EFBIG, "its type is too long for a NumPy header");
	if (r == 0)
		r = buf_reserve(ret, size);
	if (r < 0)
		return r;
	memset(ret->data + ret->len, ' ', size - ret->len);
	ret->len = size;
	ret->data[size - 1] = '\n';
	const uint16_t len = (uint16_t)(size - PREAMBLE);
	ret->data[8] = len & 0xff; /* little-endian */
	ret->data[9] = (uint8_t)(len >> 8);
	return 0;
}

static int
plan(struct mount *m, const struct node *n, uint32_t *width, struct buf *header)
{
	int r = flat_width(m, n, width);
	return r < 0 ? r : make_header(m, n, *width, header);
}

static int
measure(struct mount *m, const struct node *n, const char *path, struct view_facts *ret)
{
	CLEAN(buf_free) struct buf header = {0};
	uint32_t width = 0;
	int r = plan(m, n, &width, &header);
	*ret = (struct view_facts){
		.size = SIZE_OF_UNREADABLE,
		.version = variable_version(n, width),
	};
	if (r == 0)
		ret->size = flat_size(n, width, header.len);
	return r == -EFBIG ? 0 : r; /* opening it says why */
}

static int
lay_out(struct mount *m, const struct node *n, const char *path, struct layout **ret)
{
	CLEAN(buf_free) struct buf header = {0};
	uint32_t width = 0;
	int r = plan(m, n, &width, &header);
	return r < 0 ? r : flat_lay_out(m, n, width, buf_span(&header), ret);
}

const struct view_ops view_npy = {
	.suffix = ".npy",
	.list = LIST_NPY,
	.applies = applies,
	.measure = measure,
	.lay_out = lay_out,
};
