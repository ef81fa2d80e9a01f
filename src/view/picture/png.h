/* PNG files with 8 bits a channel and nothing compressed, so that the size is known before there is
 * a pixel.
 *
 * The format: https://www.w3.org/TR/png-3/; stored blocks: RFC 1951, section 3.2.4, in a stream of
 * RFC 1950. */
#pragma once

#include "base/buf.h"

enum { PNG_COLOURS = 256 };

/* channels: 1, numbers of colours in a palette; 3, red, green and blue; 4, with opacity. */
struct png {
	uint32_t width, height;
	unsigned channels;
	const uint8_t (*palette)[3]; /* PNG_COLOURS of them; the first one is transparent */
};

/* Bytes of the file; depends on no colour. Neither side is 0; -EFBIG: it does not fit one. */
int png_size(const struct png *, uint64_t *ret);
/* pixels: rows from the top, width * channels bytes each. Appends png_size bytes. 0 or -errno. */
int png_write(const struct png *, const uint8_t *pixels, struct buf *ret);
