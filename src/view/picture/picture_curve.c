/* Variables of one dimension: a curve in a frame, with numbers at its side and the coordinate's
 * ends below. */
#include "view/picture/picture.h"

#include "base/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sizes in pixels of the font. */
enum {
	SIDE = 56,
	RIGHT = 6,
	TOP = 6,
	BELOW = 14,
	GAP = 3,
	HIGH = 22 /* between numbers, at the least */
};

struct frame {
	int x, y, width, height; /* of its inside */
	double low, high;
};

static int
height_of(const struct frame *f, double v)
{
	double part = (v - f->low) / (f->high - f->low);
	return f->y + f->height - 1 - (int)lround(fmax(0, fmin(part, 1)) * (f->height - 1));
}

static void
draw_scale(const struct picture *p, const struct picture_meaning *k, const struct frame *f,
	struct canvas *to)
{
	const int s = p->scale;
	const double step = picture_step(f->low, f->high, f->height / (HIGH * s));
	const double first = ceil(f->low / step) * step;
	for (int i = 0; i < f->height / s && first + i * step <= f->high; i++) {
		char label[PICTURE_LABEL];
		double v = first + i * step;
		int y = height_of(f, v);
		picture_label(k, v, step, label);
		int width = canvas_text_width(label, s);
		int x = f->x - GAP * s - width;
		canvas_fill(to, f->x, y, f->width, 1, INK_GRID);
		canvas_write(to,
			&(struct canvas_text){x < 0 ? 0 : x, y - (FONT_ROWS - 2) / 2 * s, s,
				.most = f->x - GAP * s, .ink = INK_TEXT},
			label);
	}
}

static int
x_of(const struct picture *p, const struct frame *f, uint64_t i)
{
	uint64_t n = p->side[PICTURE_COLUMNS].shown;
	return f->x + (n > 1 ? (int)((double)i / (double)(n - 1) * (f->width - 1)) : f->width / 2);
}

static void
draw_values(const struct picture *p, const struct frame *f, const double *v, struct canvas *to)
{
	const unsigned ink = INK_VALUES + SHADES / 4;
	const int s = p->scale;
	bool before = false;
	int last[2] = {0, 0};
	for (uint64_t i = 0; i < p->side[PICTURE_COLUMNS].shown; i++) {
		bool there = !isnan(v[i]);
		const int at[2] = {x_of(p, f, i), there ? height_of(f, v[i]) : 0};
		if (there)
			canvas_line(to, before ? last : at, at, s, ink);
		memcpy(last, at, sizeof last);
		before = there;
	}
}

/* A coordinate at one end. */
static int
draw_end(const struct picture *p, const struct axis *a, const struct frame *f, bool right,
	const struct array_want *want, struct canvas *to)
{
	const struct picture_side *c = &p->side[PICTURE_COLUMNS];
	uint64_t index = right ? (c->shown - 1) * c->stride : 0;
	CLEAN(buf_free) struct buf text = {0};
	int r = picture_coordinate(a, index, want, &text);
	if (r == 0 && !text.len)
		r = buf_addf(&text, "%" PRIu64, index);
	if (r == 0)
		r = buf_terminate(&text);
	if (r < 0)
		return r;
	const int s = p->scale, width = canvas_text_width((char *)text.data, s) - s;
	canvas_write(to,
		&(struct canvas_text){right ? f->x + f->width - width : f->x,
			f->y + f->height + GAP * s, s, .ink = INK_TEXT},
		(char *)text.data);
	return 0;
}

static int
draw_ends(const struct picture *p, const struct axis *a, const struct frame *f,
	const struct array_want *want, struct canvas *to)
{
	const int s = p->scale;
	int r = draw_end(p, a, f, false, want, to);
	if (r == 0 && p->side[PICTURE_COLUMNS].shown > 1)
		r = draw_end(p, a, f, true, want, to);
	int width = canvas_text_width(a->name, s);
	canvas_write(to,
		&(struct canvas_text){f->x + (f->width - width) / 2, f->y + f->height + GAP * s, s,
			.ink = INK_FRAME},
		a->name);
	return r;
}

int
picture_curve(const struct picture *p, const struct picture_axes *axes,
	const struct picture_meaning *k, const double *v, const struct array_want *want,
	struct canvas *to)
{
	const int s = p->scale;
	const size_t n = p->side[PICTURE_COLUMNS].shown;
	struct frame f = {SIDE * s, TOP * s, (int)p->map_width - (SIDE + RIGHT) * s,
		(int)p->map_height - (TOP + BELOW) * s, 0, 0};
	picture_quantile(v, n, 0, &f.low);
	picture_quantile(v, n, 1, &f.high);
	double more = f.high > f.low ? (f.high - f.low) / 25 : f.low ? fabs(f.low) / 100 : 1;
	f.low -= more;
	f.high += more;
	canvas_fill(to, 0, 0, (int)p->png.width, (int)p->map_height, INK_PAPER);
	draw_scale(p, k, &f, to);
	for (int i = 0; i < 2; i++) {
		canvas_fill(to, f.x, f.y + i * (f.height - 1), f.width, 1, INK_FRAME);
		canvas_fill(to, f.x + i * (f.width - 1), f.y, 1, f.height, INK_FRAME);
	}
	draw_values(p, &f, v, to);
	return draw_ends(p, &axes->axis[0], &f, want, to);
}
