/* How much an encoder may make of so many bytes. */
#include "codec/codec.h"

#include "base/check.h"

size_t
codec_worst(size_t n)
{
	/* a quarter: deflate with fixed codes makes 9 bits of 8; the rest is for headers and many
	 * small frames */
	static const size_t slack = 64 << 10;
	uint64_t sum;
	return add_over(n, n / 4 + slack, &sum) ? SIZE_MAX : sum;
}
