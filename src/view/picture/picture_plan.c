/* How large a picture is, and which elements it shows. */
#include "view/picture/picture.h"

#include "base/check.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

enum {
	CHUNKS_MOST = 256,
	CHUNKS_MOST_REMOTE = 32,
	BYTES_MOST = 512 << 20, /* decoded */
	BYTES_MOST_REMOTE = 64 << 20,
	STANDARD = 1024,  /* pixels of the longer side */
	LEAST = 256,      /* pixels of the longer side of what is small */
	NARROW = 64,      /* of the other side */
	LARGE_TEXT = 480, /* pixels of width that have room for letters of twice the size */
};

static bool
is_number(const struct dtype *t)
{
	switch (t->kind) {
	case DTYPE_BOOL:
	case DTYPE_INT:
	case DTYPE_UINT:
	case DTYPE_FLOAT:
	case DTYPE_COMPLEX:
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA: return true;
	default: return false;
	}
}

bool
picture_shows(const struct node *n)
{
	const struct array_meta *a = n->array;
	if (!a || n->error || !a->rank || !is_number(&a->dtype))
		return false;
	for (unsigned d = 0; d < a->rank; d++)
		if (!a->shape[d])
			return false;
	return true;
}

static bool
is_photo(const struct array_meta *a)
{
	uint64_t last = a->shape[a->rank - 1];
	return a->rank > 2 && a->dtype.kind == DTYPE_UINT && a->dtype.size == 1 &&
	       (last == 3 || last == 4);
}

static unsigned
leading_of(const struct array_meta *a)
{
	return a->rank == 1 ? 0 : a->rank - (is_photo(a) ? 3 : 2);
}

/* ".12.0": plain decimals within the leading dimensions. */
static bool
take_indices(const struct array_meta *a, const char *part, size_t len, uint64_t *index)
{
	const char *p = part, *end = part + len;
	for (unsigned d = 0; p < end; d++) {
		uint64_t v = 0;
		if (d == leading_of(a) || *p++ != '.')
			return false;
		const char *digits = p;
		for (; p < end && *p >= '0' && *p <= '9'; p++)
			if (mul_over(v, 10, &v) || add_over(v, (uint64_t)(*p - '0'), &v))
				return false;
		bool plain = p > digits && (*digits != '0' || p == digits + 1);
		if (!plain || v >= a->shape[d])
			return false;
		index[d] = v;
	}
	return true;
}

bool
picture_has_part(const struct node *n, const char *part, size_t len)
{
	uint64_t index[RANK_MAX];
	return take_indices(n->array, part, len, index);
}

static void
set_stride(struct picture_side *s, uint64_t stride)
{
	s->stride = stride;
	s->shown = ceil_div(s->size, stride);
}

/* Chunks along it that have something to show. */
static uint64_t
chunks_along(const struct picture_side *s)
{
	return s->stride <= s->chunk ? (s->shown - 1) * s->stride / s->chunk + 1 : s->shown;
}

/* One stride for both, so that a map has its form; but of a few rows or columns none is left out
 * for that. */
static void
set_strides(struct picture *p, uint64_t most)
{
	struct picture_side *s = p->side;
	uint64_t longer = max_u64(s[0].size, s[1].size), stride = ceil_div(longer, most);
	for (unsigned i = 0; i < PICTURE_SIDES; i++) {
		set_stride(&s[i], stride);
		if (s[i].shown < NARROW)
			set_stride(&s[i], max_u64(1, s[i].size / NARROW));
	}
}

static bool
fits(const struct picture *p, uint64_t chunks_a_pixel, uint64_t chunks_most)
{
	uint64_t n;
	return !mul_over(chunks_along(&p->side[0]), chunks_along(&p->side[1]), &n) &&
	       !mul_over(n, chunks_a_pixel, &n) && n <= chunks_most;
}

/* Strides grow until no more chunks are needed than may be read. */
static int
bound(struct picture *p)
{
	const struct array_meta *a = p->node->array;
	bool remote = p->mount->zmap->caps & ZMAP_REMOTE;
	uint64_t bytes = a->dtype.size, most = remote ? BYTES_MOST_REMOTE : BYTES_MOST;
	bool over = false;
	for (unsigned d = 0; d < a->rank; d++)
		over = over || mul_over(bytes, a->chunk[d], &bytes);
	uint64_t chunks_a_pixel =
		ceil_div(p->elements, p->kind == PICTURE_PHOTO ? a->chunk[a->rank - 1] : 1);
	p->chunks_most =
		over ? 0 : min_u64(remote ? CHUNKS_MOST_REMOTE : CHUNKS_MOST, most / bytes);
	if (p->chunks_most < chunks_a_pixel)
		return err_set(-EFBIG,
			"no picture: its chunks have more than the %llu MiB that may be decoded "
			"for one",
			(unsigned long long)(most >> 20));
	const uint64_t stride[] = {p->side[0].stride, p->side[1].stride};
	for (uint64_t n = 2; !fits(p, chunks_a_pixel, p->chunks_most); n++) {
		p->coarser = true;
		for (unsigned i = 0; i < PICTURE_SIDES; i++)
			set_stride(&p->side[i], min_u64(stride[i] * n, p->side[i].size));
	}
	return 0;
}

static void
set_zoom(struct picture *p, uint64_t most)
{
	struct picture_side *s = p->side;
	uint64_t longer = max_u64(s[0].shown, s[1].shown);
	uint64_t zoom = min_u64(ceil_div(LEAST, longer), max_u64(1, most / longer));
	for (unsigned i = 0; i < PICTURE_SIDES; i++)
		s[i].zoom = (unsigned)max_u64(zoom, ceil_div(NARROW, s[i].shown));
}

static int
set_size(struct picture *p, uint32_t most)
{
	bool curve = p->kind == PICTURE_CURVE;
	p->map_width =
		curve ? most
		      : (uint32_t)p->side[PICTURE_COLUMNS].shown * p->side[PICTURE_COLUMNS].zoom;
	p->map_height = curve ? most / 2
			      : (uint32_t)p->side[PICTURE_ROWS].shown * p->side[PICTURE_ROWS].zoom;
	p->png.width = (uint32_t)max_u64(p->map_width, min_u64(LEAST, most));
	p->png.channels = p->kind == PICTURE_PHOTO ? p->elements : 1;
	p->scale = p->png.width < LARGE_TEXT ? 1 : 2;
	p->png.height = p->map_height + (uint32_t)picture_caption_height(p);
	return png_size(&p->png, &p->size);
}

int
picture_plan(struct mount *m, const struct node *n, const char *path, struct picture *ret)
{
	const struct array_meta *a = n->array;
	const char *name = mount_path(m, n->path), *part = path + strlen(name),
		   *end = strrchr(part, '.');
	struct picture p = {
		.mount = m, .node = (struct node *)n, .leading = leading_of(a), .elements = 1};
	if (!take_indices(a, part, (size_t)(end - part), p.index))
		return err_set(-ENOENT, "no such part of '%s'", name);
	p.kind = a->rank == 1 ? PICTURE_CURVE : is_photo(a) ? PICTURE_PHOTO : PICTURE_MAP;
	p.side[0] = p.side[1] = (struct picture_side){.size = 1, .chunk = 1};
	for (unsigned i = 0; i < PICTURE_SIDES; i++) {
		unsigned d = p.leading + i - (a->rank == 1);
		if (a->rank > 1 || i == PICTURE_COLUMNS)
			p.side[i] = (struct picture_side){d, a->shape[d], a->chunk[d], 1, 1, 1};
	}
	if (p.kind == PICTURE_PHOTO)
		p.elements = (unsigned)a->shape[a->rank - 1];
	const uint32_t most = m->options.picture ? m->options.picture : STANDARD;
	set_strides(&p, most);
	int r = bound(&p);
	if (r == 0)
		set_zoom(&p, most);
	if (r == 0)
		r = set_size(&p, most);
	if (r == 0)
		*ret = p;
	return r;
}
