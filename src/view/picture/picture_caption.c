/* What stands below a picture: the bar of colours with its numbers, what is shown, and which part
 * of it. */
#include "view/picture/picture.h"

#include "base/check.h"
#include "view/state.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sizes in pixels of the font. */
enum { MARGIN = 4, GAP = 3, BAR = 7, TICK = 2, LINE = FONT_ROWS, WIDE = 45 };

int
picture_caption_height(const struct picture *p)
{
	int bar = p->kind == PICTURE_MAP ? BAR + TICK + 1 + LINE + GAP : 0;
	return p->scale * (MARGIN + bar + LINE + GAP + LINE + MARGIN);
}

double
picture_step(double low, double high, int n)
{
	double step = (high - low) / (n > 1 ? n : 1), power = pow(10, floor(log10(step)));
	double part = step / power;
	return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

/* "2001-02-03T00:00:00" without a time of day that says nothing. */
static bool
label_time(const struct picture_meaning *k, double v, char ret[PICTURE_LABEL])
{
	static const char midnight[] = "T00:00:00";
	char text[CF_TIME_TEXT];
	bool months = k->time.months && fabs(v) < 1e9;
	if (months ? !cf_time_text_int(&k->time, (int64_t)v, text)
		   : !cf_time_text(&k->time, v, text))
		return false;
	size_t len = strcspn(text, ".");
	if (strspn(text + len, ".0") == strlen(text + len))
		text[len] = 0;
	if (len >= sizeof midnight - 1 && strcmp(text + len - (sizeof midnight - 1), midnight) == 0)
		text[len - (sizeof midnight - 1)] = 0;
	snprintf(ret, PICTURE_LABEL, "%s", text);
	return true;
}

void
picture_label(const struct picture_meaning *k, double v, double step, char ret[PICTURE_LABEL])
{
	if (k->is_time && label_time(k, v, ret))
		return;
	double decimals = step > 0 ? fmax(0, -floor(log10(step) + 1e-9)) : 0;
	bool plain = step > 0 && fabs(v) < 1e6 && decimals < 5;
	if (step > 0 && fabs(v) < step / 2)
		v = 0;
	if (plain)
		snprintf(ret, PICTURE_LABEL, "%.*f", (int)decimals, v);
	else
		snprintf(ret, PICTURE_LABEL, "%.5g", v);
}

/* In the midst around x, within the picture. */
static void
write_around(struct canvas *to, int x, int y, int scale, const char *text)
{
	int width = canvas_text_width(text, scale) - scale, margin = MARGIN * scale;
	x -= width / 2;
	if (x + width > (int)to->width - margin)
		x = (int)to->width - margin - width;
	if (x < margin)
		x = margin;
	canvas_write(to, &(struct canvas_text){x, y, scale, .ink = INK_TEXT}, text);
}

struct bar {
	const struct picture *picture;
	const struct picture_meaning *meaning;
	const struct picture_colours *colours;
	int x, y, width; /* of its inside */
};

static void
draw_ticks(const struct bar *b, struct canvas *to)
{
	const struct picture_colours *c = b->colours;
	int s = b->picture->scale, most = b->width / (s * (b->meaning->is_time ? 2 * WIDE : WIDE));
	double step = b->meaning->is_time ? (c->high - c->low) / (most > 1 ? most - 1 : 1)
					  : picture_step(c->low, c->high, most);
	double first = b->meaning->is_time ? c->low : ceil(c->low / step - 1e-9) * step;
	for (int i = 0; first + i * step <= c->high + step / 1e6 && i <= 2 * most + 2; i++) {
		char label[PICTURE_LABEL];
		double v = first + i * step;
		int x = b->x + (int)lround((v - c->low) / (c->high - c->low) * (b->width - 1));
		canvas_fill(to, x - (s - 1) / 2, b->y + BAR * s, s, TICK * s, INK_FRAME);
		picture_label(b->meaning, v, step, label);
		write_around(to, x, b->y + (BAR + TICK + 1) * s, s, label);
	}
}

/* A block for each flag, with its meaning or its number where there is room for that. */
static void
draw_flags(const struct bar *b, struct canvas *to)
{
	const struct picture_meaning *k = b->meaning;
	int s = b->picture->scale, n = (int)k->nflags;
	for (int i = 0; i < n; i++) {
		int from = b->x + b->width * i / n, end = b->x + b->width * (i + 1) / n,
		    gap = end - from > 8 * s ? s : 0;
		char number[PICTURE_LABEL];
		snprintf(number, sizeof number, "%.9g", k->flag[i]);
		const char *text = k->flag_name && *k->flag_name[i] ? k->flag_name[i] : number;
		canvas_fill(to, from, b->y, end - from - gap, BAR * s, INK_VALUES + (unsigned)i);
		if (canvas_text_width(number, s) <= end - from)
			canvas_write(to,
				&(struct canvas_text){from, b->y + (BAR + TICK + 1) * s, s,
					.most = end - from - 2 * s, .ink = INK_TEXT},
				text);
	}
}

static void
draw_bar(const struct bar *b, struct canvas *to)
{
	int s = b->picture->scale;
	if (b->colours->how == COLOURS_FLAGS) {
		draw_flags(b, to);
		return;
	}
	if (!b->colours->any) {
		canvas_write(
			to, &(struct canvas_text){b->x, b->y, s, .ink = INK_TEXT}, "no values");
		return;
	}
	for (int x = 0; x < b->width; x++)
		canvas_fill(to, b->x + x, b->y, 1, BAR * s,
			INK_VALUES + (unsigned)(x * SHADES / b->width));
	draw_ticks(b, to);
}

/* "time 2001-02-03", "level 850 hPa", "time[3] of 12" of one leading dimension. */
static int
add_index(const struct picture *p, const struct axis *a, uint64_t index,
	const struct array_want *want, struct buf *to)
{
	CLEAN(buf_free) struct buf text = {0};
	struct attrs as = {0};
	const char *name = a->name;
	int r = picture_coordinate(a, index, want, &text);
	if (r == 0 && !text.len)
		r = buf_addf(to, "%s%s[%" PRIu64 "] of %" PRIu64, to->len ? ", " : "", name, index,
			a->size);
	else if (r == 0 && (r = node_attrs(a->coordinate, &as)) == 0) {
		const char *units = attrs_text(&as, "units");
		bool shown =
			units && *units && strcmp(units, "1") != 0 && !a->cells.cell[0].is_time;
		r = buf_addf(to, "%s%s %.*s%s%s", to->len ? ", " : "", name, (int)text.len,
			(char *)text.data, shown ? " " : "", shown ? units : "");
	}
	attrs_free(&as);
	return r;
}

/* "lat 721 (1 of 2), lon 1440 (1 of 2)". */
static int
add_sides(const struct picture *p, const struct picture_axes *axes, struct buf *to)
{
	int r = 0;
	for (unsigned i = p->kind == PICTURE_CURVE; i < PICTURE_SIDES && r == 0; i++) {
		const struct picture_side *s = &p->side[i];
		r = buf_addf(
			to, "%s%s %" PRIu64, to->len ? ", " : "", axes->axis[s->dim].name, s->size);
		if (r == 0 && s->stride > 1)
			r = buf_addf(to, " (1 of %" PRIu64 ")", s->stride);
	}
	return r;
}

static int
add_part(const struct picture *p, const struct picture_axes *axes, const struct array_want *want,
	struct buf *to)
{
	/* Comes first, since the end of a line may have no room. */
	int r = p->coarser ? buf_addf(to, "at most %" PRIu64 " chunks", p->chunks_most) : 0;
	for (unsigned d = 0; d < p->leading && r == 0; d++)
		r = add_index(p, &axes->axis[d], p->index[d], want, to);
	if (r == 0)
		r = add_sides(p, axes, to);
	return r < 0 ? r : buf_terminate(to);
}

int
picture_caption(const struct picture *p, const struct picture_axes *axes,
	const struct picture_meaning *k, const struct picture_colours *c,
	const struct array_want *want, struct canvas *to)
{
	CLEAN(buf_free) struct buf title = {0};
	CLEAN(buf_free) struct buf part = {0};
	int s = p->scale, margin = MARGIN * s, y = (int)p->map_height, width = (int)p->png.width;
	int r = buf_addf(&title, "%s%s%s%s", k->title, k->units ? " (" : "",
		k->units ? k->units : "", k->units ? ")" : "");
	if (r == 0)
		r = buf_terminate(&title);
	if (r == 0)
		r = add_part(p, axes, want, &part);
	if (r < 0)
		return r;
	canvas_fill(to, 0, y, width, (int)p->png.height - y, INK_PAPER);
	y += margin;
	if (p->kind == PICTURE_MAP) {
		const struct bar b = {p, k, c, margin, y, width - 2 * margin};
		draw_bar(&b, to);
		y += (BAR + TICK + 1 + LINE + GAP) * s;
	}
	struct canvas_text t = {
		margin, y, s, .bold = s > 1, .most = width - 2 * margin, .ink = INK_TEXT};
	canvas_write(to, &t, (char *)title.data);
	t.y += (LINE + GAP) * s;
	t.bold = false;
	canvas_write(to, &t, (char *)part.data);
	return 0;
}
