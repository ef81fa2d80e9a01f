/* A small font for the words in pictures: five pixels wide, seven above the line and two below it.
 * Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { FONT_ROWS = 9, FONT_ABOVE = 7 };

struct glyph {
	uint8_t row[FONT_ROWS]; /* bit 0: its leftmost pixel */
	unsigned width;
};

/* The next character of UTF-8, len > 0 bytes; of those with marks, the letter; a box where the font
 * has none; no width: it is nothing to be seen. Returns its bytes. */
size_t font_next(const char *text, size_t len, struct glyph *ret);
