/* Pixels that are drawn on: numbers of colours in a palette, or red, green, blue (and opacity) of a
 * photo. One thread's. */
#pragma once

#include "base/buf.h"
#include "view/picture/font.h"

/* Colours that every palette has at its beginning; then come those of the values. */
enum ink { INK_NONE, INK_PAPER, INK_TEXT, INK_FRAME, INK_GRID, INK_OTHER, INK_VALUES };

enum { INKS = 256, SHADES = INKS - INK_VALUES };

struct canvas {
	uint32_t width, height;
	unsigned channels; /* 1, 3 or 4 */
	uint8_t *pixel;    /* height * width * channels; owned */
};

/* All of it INK_NONE. 0 or -ENOMEM. */
int canvas_new(uint32_t width, uint32_t height, unsigned channels, struct canvas *ret);
void canvas_free(struct canvas *);
/* What lies outside is not drawn. Of photos: the inks before INK_VALUES only. */
void canvas_fill(struct canvas *, int x, int y, int width, int height, unsigned ink);
/* The same of a photo, by a pixel's bytes. */
void canvas_paint(struct canvas *, int x, int y, int width, int height, const uint8_t *pixel);
/* From the middle of one pixel to that of another, so many pixels thick. */
void canvas_line(struct canvas *, const int from[2], const int to[2], int thick, unsigned ink);

struct canvas_text {
	int x, y; /* of the upper left corner */
	int scale;
	bool bold;
	int most; /* pixels; longer texts end in dots. 0: any */
	unsigned ink;
};
void canvas_write(struct canvas *, const struct canvas_text *, const char *text);
int canvas_text_width(const char *text, int scale);

enum colours { COLOURS_RISING, COLOURS_DIVERGING, COLOURS_GREY, COLOURS_FLAGS };
/* All INKS of a palette. */
void canvas_palette(enum colours, uint8_t ret[INKS][3]);
