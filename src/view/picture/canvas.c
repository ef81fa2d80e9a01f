#include "view/picture/canvas.h"

#include "base/err.h"
#include "view/picture/font.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the inks before INK_VALUES. */
static const uint8_t plain[INK_VALUES][3] = {
	[INK_NONE] = {255, 255, 255},
	[INK_PAPER] = {255, 255, 255},
	[INK_TEXT] = {30, 32, 36},
	[INK_FRAME] = {140, 144, 150},
	[INK_GRID] = {228, 230, 233},
	[INK_OTHER] = {190, 190, 190},
};

/* matplotlib's viridis (CC0), every 16th of its colours. */
static const uint8_t rising[][3] = {{68, 1, 84}, {72, 24, 106}, {71, 45, 123}, {66, 64, 134},
	{59, 82, 139}, {51, 99, 141}, {44, 114, 142}, {38, 129, 142}, {33, 144, 140},
	{31, 159, 136}, {40, 174, 128}, {62, 188, 116}, {93, 201, 99}, {130, 211, 76},
	{171, 220, 50}, {213, 226, 26}, {253, 231, 37}};
/* ColorBrewer's RdBu (Apache 2.0), from blue to red. */
static const uint8_t diverging[][3] = {{5, 48, 97}, {33, 102, 172}, {67, 147, 195}, {146, 197, 222},
	{209, 229, 240}, {247, 247, 247}, {253, 219, 199}, {244, 165, 130}, {214, 96, 77},
	{178, 24, 43}, {103, 0, 31}};
static const uint8_t grey[][3] = {{0, 0, 0}, {255, 255, 255}};

#define STOPS(list) list, sizeof list / sizeof *list

int
canvas_new(uint32_t width, uint32_t height, unsigned channels, struct canvas *ret)
{
	*ret = (struct canvas){width, height, channels, calloc((size_t)width * height, channels)};
	return ret->pixel ? 0 : err_set(-ENOMEM, "no memory for a picture");
}

void
canvas_free(struct canvas *c)
{
	free(c->pixel);
	c->pixel = NULL;
}

static void
put(struct canvas *c, int x, int y, unsigned ink)
{
	if (x < 0 || y < 0 || x >= (int)c->width || y >= (int)c->height)
		return;
	uint8_t *p = c->pixel + ((size_t)y * c->width + (size_t)x) * c->channels;
	if (c->channels == 1) {
		*p = (uint8_t)ink;
		return;
	}
	memcpy(p, plain[ink], 3);
	if (c->channels == 4)
		p[3] = ink == INK_NONE ? 0 : 255;
}

void
canvas_fill(struct canvas *c, int x, int y, int width, int height, unsigned ink)
{
	for (int j = 0; j < height; j++)
		for (int i = 0; i < width; i++)
			put(c, x + i, y + j, ink);
}

void
canvas_paint(struct canvas *c, int x, int y, int width, int height, const uint8_t *pixel)
{
	for (int j = 0; j < height; j++)
		for (int i = 0; i < width; i++)
			memcpy(c->pixel + ((size_t)(y + j) * c->width + (size_t)(x + i)) *
						  c->channels,
				pixel, c->channels);
}

void
canvas_line(struct canvas *c, const int from[2], const int to[2], int thick, unsigned ink)
{
	int dx = to[0] - from[0], dy = to[1] - from[1];
	int steps = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
	for (int i = 0; i <= steps; i++) {
		int x = from[0], y = from[1];
		if (steps) {
			x += (int)lround((double)dx * i / steps);
			y += (int)lround((double)dy * i / steps);
		}
		canvas_fill(c, x - (thick - 1) / 2, y - (thick - 1) / 2, thick, thick, ink);
	}
}

static bool
is_set(const struct glyph *g, int x, int y)
{
	return y >= 0 && y < FONT_ROWS && x >= 0 && g->row[y] >> x & 1;
}

/* One pixel of a glyph twice as large. A quarter is as the pixels at its two sides where those at
 * the other two are both different, so that slopes have no steps. */
static void
put_double(struct canvas *c, const struct canvas_text *t, const struct glyph *g, int x, int y)
{
	for (int i = 0; i < 4; i++) {
		const int column = i % 2, row = i / 2, across = column ? 1 : -1,
			  down = row ? 1 : -1;
		const bool side = is_set(g, x + across, y), end = is_set(g, x, y + down),
			   far_side = is_set(g, x - across, y), far_end = is_set(g, x, y - down);
		const bool slope = side == end && far_side == far_end && side != far_side;
		if (slope ? side : is_set(g, x, y))
			put(c, t->x + 2 * x + column, t->y + 2 * y + row, t->ink);
	}
}

static void
put_glyph(struct canvas *c, const struct canvas_text *t, const struct glyph *g)
{
	for (int y = 0; y < FONT_ROWS; y++)
		for (int x = 0; x < (int)g->width; x++) {
			if (t->scale == 2)
				put_double(c, t, g, x, y);
			else if (is_set(g, x, y))
				canvas_fill(c, t->x + t->scale * x, t->y + t->scale * y, t->scale,
					t->scale, t->ink);
		}
}

/* Pixels to the next letter. */
static int
advance(const struct glyph *g, int scale)
{
	return g->width ? ((int)g->width + 1) * scale : 0;
}

/* Longer ones are wider than any picture. */
static int
width_of(const char *text, size_t len, int scale)
{
	enum { WIDEST = 1 << 20 };
	int width = 0;
	struct glyph g;
	for (size_t at = 0; at < len && width < WIDEST;) {
		at += font_next(text + at, len - at, &g);
		width += advance(&g, scale);
	}
	return width;
}

int
canvas_text_width(const char *text, int scale)
{
	return width_of(text, strlen(text), scale);
}

static void
write_part(struct canvas *c, struct canvas_text *t, const char *text, size_t len)
{
	struct glyph g;
	for (size_t at = 0; at < len;) {
		at += font_next(text + at, len - at, &g);
		put_glyph(c, t, &g);
		if (t->bold) {
			struct canvas_text again = *t;
			again.x++;
			put_glyph(c, &again, &g);
		}
		t->x += advance(&g, t->scale);
	}
}

void
canvas_write(struct canvas *c, const struct canvas_text *how, const char *text)
{
	static const char dots[] = "...";
	struct canvas_text t = *how;
	struct glyph g;
	size_t len = strlen(text), fits = 0;
	if (!t.most || width_of(text, len, t.scale) <= t.most) {
		write_part(c, &t, text, len);
		return;
	}
	int room = t.most - canvas_text_width(dots, t.scale), width = 0;
	for (size_t next = 0; next < len && width <= room; width += advance(&g, t.scale)) {
		fits = next;
		next += font_next(text + next, len - next, &g);
	}
	write_part(c, &t, text, fits);
	write_part(c, &t, dots, strlen(dots));
}

/* Colour i of n, between stops. */
static void
between(const uint8_t (*stop)[3], size_t stops, double part, uint8_t ret[3])
{
	double at = part * (double)(stops - 1);
	size_t i = at >= (double)(stops - 1) ? stops - 2 : (size_t)at;
	for (unsigned k = 0; k < 3; k++)
		ret[k] = (uint8_t)lround(
			stop[i][k] + (at - (double)i) * (stop[i + 1][k] - stop[i][k]));
}

/* Neighbours are far from each other on the circle of hues, and differ in brightness. */
static void
flag_colour(unsigned i, uint8_t ret[3])
{
	static const double golden = 0.618033988749895;
	static const double bright[] = {0.85, 0.62, 0.95}, full[] = {0.60, 0.72, 0.38};
	double hue = fmod(0.58 + i * golden, 1) * 6, v = bright[i % 3], s = full[i % 3];
	for (unsigned k = 0; k < 3; k++) { /* of HSV: red, green, blue are 5, 3, 1 sixths on */
		double at = fmod(5 - 2 * k + hue, 6);
		double part = fmax(0, fmin(fmin(at, 4 - at), 1));
		ret[k] = (uint8_t)lround(255 * (v - v * s * part));
	}
}

void
canvas_palette(enum colours how, uint8_t ret[INKS][3])
{
	memcpy(ret, plain, sizeof plain);
	for (unsigned i = 0; i < SHADES; i++) {
		double part = (double)i / (SHADES - 1);
		uint8_t *to = ret[INK_VALUES + i];
		switch (how) {
		case COLOURS_RISING: between(STOPS(rising), part, to); break;
		case COLOURS_DIVERGING: between(STOPS(diverging), part, to); break;
		case COLOURS_GREY: between(STOPS(grey), part, to); break;
		case COLOURS_FLAGS: flag_colour(i, to); break;
		}
	}
}
