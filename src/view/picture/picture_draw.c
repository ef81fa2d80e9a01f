/* Numbers, or the parts of a photo's pixels, as pixels. */
#include "view/picture/picture.h"

#include "base/check.h"
#include "view/state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the values that are shown, those in the midst are told apart. */
static const double LOWEST = 0.02, HIGHEST = 0.98;

static size_t
count_of(const struct picture *p)
{
	return p->side[0].shown * p->side[1].shown;
}

/* From the least to the greatest, where the midst of them is one and the same. */
static void
choose_range(const double *v, size_t n, struct picture_colours *c)
{
	c->low = c->high = (double)NAN;
	picture_quantile(v, n, LOWEST, &c->low);
	picture_quantile(v, n, HIGHEST, &c->high);
	c->any = !isnan(c->low) && !isnan(c->high);
	if (c->low == c->high) {
		picture_quantile(v, n, 0, &c->low);
		picture_quantile(v, n, 1, &c->high);
	}
}

static void
choose_colours(
	const struct picture_meaning *k, const double *v, size_t n, struct picture_colours *c)
{
	choose_range(v, n, c);
	c->how = k->image ? COLOURS_GREY : k->nflags ? COLOURS_FLAGS : COLOURS_RISING;
	if (k->window) {
		c->low = k->low;
		c->high = k->high;
	} else if (c->how == COLOURS_RISING && c->low < 0 && c->high > 0 && !k->is_time) {
		c->how = COLOURS_DIVERGING;
		c->high = fmax(-c->low, c->high);
		c->low = -c->high;
	} else if (c->any && c->low == c->high) {
		double around = c->low ? fabs(c->low) / 100 : 1;
		c->low -= around;
		c->high += around;
	}
}

static unsigned
ink_of(const struct picture_meaning *k, const struct picture_colours *c, double v)
{
	if (isnan(v))
		return INK_NONE;
	if (c->how == COLOURS_FLAGS) {
		for (size_t i = 0; i < k->nflags; i++)
			if (v == k->flag[i])
				return INK_VALUES + (unsigned)i;
		return INK_OTHER;
	}
	double at = (v - c->low) / (c->high - c->low) * SHADES;
	return INK_VALUES + (unsigned)fmax(0, fmin(at, SHADES - 1));
}

/* The coordinate of the rows rises and goes north, so that the last one is on top. */
static int
is_upside_down(const struct picture *p, const struct picture_axes *axes,
	const struct picture_meaning *k, const struct array_want *want, bool *ret)
{
	const struct picture_side *rows = &p->side[PICTURE_ROWS];
	CLEAN(buf_free) struct buf first = {0};
	CLEAN(buf_free) struct buf last = {0};
	*ret = false;
	if (p->kind != PICTURE_MAP || k->image || rows->size < 2 ||
		!picture_points_north(&axes->axis[rows->dim]))
		return 0;
	int r = picture_coordinate(&axes->axis[rows->dim], 0, want, &first);
	if (r == 0)
		r = picture_coordinate(&axes->axis[rows->dim], rows->size - 1, want, &last);
	if (r == 0)
		*ret = strtod((char *)last.data, NULL) > strtod((char *)first.data, NULL);
	return r;
}

/* Row y, column x of what is shown. */
static void
place(const struct picture *p, bool upside_down, uint64_t y, uint64_t x, int ret[4])
{
	const struct picture_side *s = p->side;
	if (upside_down)
		y = s[PICTURE_ROWS].shown - 1 - y;
	ret[0] = (int)((p->png.width - p->map_width) / 2 + x * s[PICTURE_COLUMNS].zoom);
	ret[1] = (int)(y * s[PICTURE_ROWS].zoom);
	ret[2] = (int)s[PICTURE_COLUMNS].zoom;
	ret[3] = (int)s[PICTURE_ROWS].zoom;
}

static void
draw_map(const struct picture *p, const struct picture_meaning *k, const struct picture_colours *c,
	const double *v, bool upside_down, struct canvas *to)
{
	for (uint64_t y = 0; y < p->side[PICTURE_ROWS].shown; y++)
		for (uint64_t x = 0; x < p->side[PICTURE_COLUMNS].shown; x++) {
			int at[4];
			place(p, upside_down, y, x, at);
			canvas_fill(to, at[0], at[1], at[2], at[3], ink_of(k, c, *v++));
		}
}

static void
draw_photo(const struct picture *p, const uint8_t *pixel, struct canvas *to)
{
	for (uint64_t y = 0; y < p->side[PICTURE_ROWS].shown; y++)
		for (uint64_t x = 0; x < p->side[PICTURE_COLUMNS].shown;
			x++, pixel += p->elements) {
			int at[4];
			place(p, false, y, x, at);
			canvas_paint(to, at[0], at[1], at[2], at[3], pixel);
		}
}

static int
draw_numbers(const struct picture *p, const struct picture_axes *axes,
	const struct picture_meaning *k, const uint8_t *elements, const struct array_want *want,
	struct canvas *to, struct picture_colours *c)
{
	CLEAN(clean_free) double *v = NULL;
	bool upside_down = false;
	int r = is_upside_down(p, axes, k, want, &upside_down);
	if (r == 0)
		r = picture_numbers(p, k, elements, !k->nflags, &v);
	if (r < 0)
		return r;
	if (p->kind == PICTURE_CURVE)
		return picture_curve(p, axes, k, v, want, to);
	choose_colours(k, v, count_of(p), c);
	draw_map(p, k, c, v, upside_down, to);
	return 0;
}

static int
write_file(const struct picture *p, const struct picture_colours *c, const struct canvas *from,
	struct buf *ret)
{
	uint8_t palette[INKS][3];
	struct png png = p->png;
	canvas_palette(c->how, palette);
	png.palette = (const uint8_t(*)[3])palette;
	return png_write(&png, from->pixel, ret);
}

int
picture_draw(const struct picture *p, const struct picture_axes *axes, struct stream *elements,
	const struct array_want *want, struct buf *ret)
{
	CLEAN(picture_meaning_free) struct picture_meaning k = {0};
	CLEAN(canvas_free) struct canvas to = {0};
	CLEAN(clean_free) uint8_t *stored = NULL;
	struct picture_colours c = {0};
	int r = picture_meaning(p, &k);
	picture_axes_expect(p, axes);
	if (r == 0)
		r = picture_elements(p, elements, want, &stored);
	if (r == 0)
		r = canvas_new(p->png.width, p->png.height, p->png.channels, &to);
	if (r == 0 && p->kind != PICTURE_PHOTO)
		r = draw_numbers(p, axes, &k, stored, want, &to, &c);
	if (r == 0 && p->kind == PICTURE_PHOTO)
		draw_photo(p, stored, &to);
	if (r == 0)
		r = picture_caption(p, axes, &k, &c, want, &to);
	return r < 0 ? r : write_file(p, &c, &to, ret);
}
