/* The flat file: the elements of a variable and nothing else. */
#include "view/flat.h"
#include "view/length.h"

#include "base/check.h"
#include "view/byte_order.h"
#include "view/flats.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

/* What widths are measured of. */
enum { STORED_MAX = 1 << 20 /* bytes of a chunk */, CHUNKS_MAX = 1000, TIME_MAX = 5 /* s */ };

static _Thread_local bool must_not_measure;

void
flat_may_measure(bool may)
{
	must_not_measure = !may;
}

static bool
is_vlen(const struct dtype *t)
{
	return t->kind == DTYPE_VLEN_TEXT || t->kind == DTYPE_VLEN_BYTES;
}

struct flat_measure {
	struct mount *mount;
	const struct node *node;
};

static int
measure_width(void *arg, uint32_t *ret)
{
	const struct flat_measure *a = arg;
	const struct node *n = a->node;
	struct mount *m = a->mount;
	int64_t quarter = m->options.data.timeout / 4, most = TIME_MAX * SECOND;
	const struct array_measuring limits = {
		.max_chunks = CHUNKS_MAX,
		.max_stored = STORED_MAX,
		.deadline = clock_now() + (quarter && quarter < most ? quarter : most),
	};
	int r = array_measure(m->data, m->zmap, n->path, n->array, &limits, ret);
	if (r != ZMAP_ABSENT && r != -ETIMEDOUT)
		return r;
	*ret = m->options.strlen;
	notes_add(&m->notes, "elements of '%s' are shown in %u bytes (option strlen): %s", n->path,
		*ret,
		r < 0 ? "looking at all of them takes too long"
		      : "too much to look at all of them");
	return 0;
}

int
flat_width(struct mount *m, const struct node *n, uint32_t *ret)
{
	const struct array_meta *a = n->array;
	*ret = 0;
	if (!is_vlen(&a->dtype))
		return 0;
	*ret = a->strlen_hint ? a->strlen_hint : m->options.strlen;
	if (a->strlen_hint || n->error)
		return 0;
	uint32_t width = 0;
	uint64_t version = variable_version(n, 0);
	if (facts_know_width(&m->facts, n->path, version, ret))
		return 0;
	if (must_not_measure)
		return err_set(-EAGAIN, "its width is not known yet");
	struct flat_measure arg = {m, n};
	int r = facts_width(&m->facts, n->path, version, measure_width, &arg, &width);
	if (r == 0)
		*ret = width;
	/* What cannot be decoded keeps its name and a size; reading it says why. */
	bool passing = r == -ENOMEM || r == -EINTR || r == -ETIMEDOUT || r == -EACCES;
	return passing ? r : 0;
}

int
flat_file_width(struct mount *m, const struct node *n, uint32_t *ret)
{
	int r = flat_width(m, n, ret);
	if (r == 0 && *ret && m->options.rw)
		flats_width(m, n, ret);
	return r;
}

uint64_t
flat_size(const struct node *n, uint32_t width, uint64_t before)
{
	uint64_t size;
	bool over = mul_over(array_count(n->array), width ? width : n->array->dtype.size, &size) ||
		    add_over(size, before, &size);
	return over || size > INT64_MAX ? SIZE_OF_UNREADABLE : size;
}

/* Of a file that may grow its length is no part: the kernel keeps its inode. */
static uint64_t
version_of(const struct mount *m, const struct node *n, uint32_t width)
{
	return m->options.rw && length_grows(m, n) ? variable_version_with(n, width, 0)
						   : variable_version(n, width);
}

static int
measure(struct mount *m, const struct node *n, const char *path, struct view_facts *ret)
{
	uint32_t width = 0;
	int r = n->array ? flat_file_width(m, n, &width) : 0;
	if (r < 0)
		return r;
	*ret = (struct view_facts){
		.size = n->array ? flat_size(n, width, 0) : 0,
		.version = version_of(m, n, width),
	};
	if (m->options.rw && n->array)
		flats_size(m, n, &ret->size);
	return 0;
}

bool
flat_is_big(const struct mount *m)
{
	bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	return m->options.endian == ENDIAN_BIG || (m->options.endian == ENDIAN_NATIVE && host_big);
}

/* Takes over the reference, also when it fails. */
static int
add_elements(struct mount *m, struct layout *l, struct variable *v)
{
	bool big = flat_is_big(m), any = false;
	struct dtype swap = {0};
	int r = m->options.endian == ENDIAN_STORED
			? 0
			: byte_order_of(array_dtype(v->array), big, &swap, &any);
	if (r < 0) {
		variable_unref(v);
		return r;
	}
	r = layout_add_variable(l, v, any ? &swap : NULL);
	if (any)
		dtype_free(&swap);
	return r;
}

int
flat_lay_out(struct mount *m, const struct node *n, uint32_t width, struct span header,
	struct layout **ret)
{
	struct variable *v = NULL;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	int r = layout_new(header.len ? variable_version(n, width) : version_of(m, n, width), &l);
	if (r == 0 && header.len)
		r = layout_add_text(l, header);
	if (r == 0)
		r = variable_get(m, n, width, &v);
	if (r == 0)
		r = add_elements(m, l, v);
	if (r == 0)
		*ret = MOVE(l);
	return r;
}

int
flat_lay_out_grown(
	struct mount *m, const struct node *n, uint32_t width, uint64_t rows, struct layout **ret)
{
	struct variable *v = NULL;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	int r = layout_new(version_of(m, n, width), &l);
	if (r == 0)
		r = variable_grown(m, n, rows, width, &v);
	if (r == 0)
		r = add_elements(m, l, v);
	if (r == 0)
		*ret = MOVE(l);
	return r;
}

static int
lay_out(struct mount *m, const struct node *n, const char *path, struct layout **ret)
{
	if (!n->array)
		return err_set(-EIO, "its metadata could not be understood");
	if (n->array->dtype.kind == DTYPE_OBJECT)
		return err_set(-EIO, "its elements have no fixed form, so there is no flat file");
	uint32_t width = 0;
	int r = flat_file_width(m, n, &width);
	return r < 0 ? r : flat_lay_out(m, n, width, (struct span){0}, ret);
}

const struct view_ops view_flat = {
	.suffix = "",
	.list = LIST_FLAT,
	.measure = measure,
	.lay_out = lay_out,
};
