/* A block is sequences: a token, literals, and a match that repeats earlier output; the last one
 * has no match. The token's halves are the two lengths; 15 there means that more bytes of the
 * length follow.
 *
 * Far from the ends, copies are done in steps of 8 or 16 bytes, which may write beyond what was
 * asked for: what comes next is written over that. */
#include "codecs/lz4_block.h"

#include <endian.h>
#include <string.h>

enum {
	NIBBLE = 15,
	MATCH_MIN = 4,
	STEP = 32,
	IN_SAFE = 32, /* before the ends: a sequence of short lengths may be copied in steps */
	OUT_SAFE = 64,
};

struct lz4_block {
	const uint8_t *in, *in_end;
	uint8_t *begin, *out, *out_end;
	size_t beyond; /* bytes that follow out_end in the whole */
};

static inline void
copy_8(uint8_t *to, const uint8_t *from)
{
	memcpy(to, from, 8);
}

static inline void
copy_16(uint8_t *to, const uint8_t *from)
{
	memcpy(to, from, 16);
}

static inline size_t
room(const struct lz4_block *b)
{
	return (size_t)(b->out_end - b->out);
}

static inline size_t
input(const struct lz4_block *b)
{
	return (size_t)(b->in_end - b->in);
}

static inline bool
read_length(struct lz4_block *b, uint64_t *len)
{
	uint8_t v;
	if (*len < NIBBLE)
		return true;
	do {
		if (b->in == b->in_end)
			return false;
		v = *b->in++;
		*len += v;
	} while (v == UINT8_MAX);
	return true;
}

/* Distance 0 is none, nor is one from before the output. */
static inline bool
read_distance(struct lz4_block *b, size_t *ret)
{
	uint16_t v;
	memcpy(&v, b->in, sizeof v);
	b->in += sizeof v;
	*ret = le16toh(v);
	return *ret - 1 < (size_t)(b->out - b->begin);
}

/* Repeats of less than 8 bytes: they are put side by side in a word, and as many as are whole in it
 * count. */
static inline void
repeat_word(uint8_t *to, size_t len, size_t distance)
{
	static const uint64_t copies[8] = {0, 0x0101010101010101, 0x0001000100010001,
		0x0001000001000001, 0x0000000100000001, 0x0000010000000001, 0x0001000000000001,
		0x0100000000000001};
	static const uint8_t steps[8] = {8, 8, 8, 6, 8, 5, 6, 7};
	uint64_t word;
	memcpy(&word, to - distance, sizeof word);
	word = le64toh(word) & (((uint64_t)1 << 8 * distance) - 1);
	word = htole64(word * copies[distance]);
	for (const uint8_t *end = to + len; to < end; to += steps[distance])
		memcpy(to, &word, sizeof word);
}

/* May write STEP bytes more. */
static inline void
copy_match(uint8_t *to, size_t len, size_t distance)
{
	const uint8_t *end = to + len;
	if (distance >= 16)
		for (; to < end; to += STEP) {
			copy_16(to, to - distance);
			copy_16(to + 16, to + 16 - distance);
		}
	else if (distance >= 8)
		for (; to < end; to += 8)
			copy_8(to, to - distance);
	else
		repeat_word(to, len, distance);
}

/* Sequences in a hurry, until one is near an end or in doubt: that one is left to careful(). */
static void
hurry(struct lz4_block *b)
{
	struct lz4_block at = *b;
	while (input(&at) >= IN_SAFE && room(&at) >= OUT_SAFE) {
		uint8_t token = *at.in++;
		uint64_t len = token >> 4;
		size_t distance;
		if (len < NIBBLE) {
			copy_16(at.out, at.in);
		} else {
			if (!read_length(&at, &len) || len + IN_SAFE > input(&at) ||
				len + OUT_SAFE > room(&at))
				return;
			for (size_t i = 0; i < len; i += STEP) {
				copy_16(at.out + i, at.in + i);
				copy_16(at.out + i + 16, at.in + i + 16);
			}
		}
		at.in += len;
		at.out += len;
		if (!read_distance(&at, &distance))
			return;
		len = token & NIBBLE;
		if (len < NIBBLE && distance >= 8) {
			copy_8(at.out, at.out - distance);
			copy_8(at.out + 8, at.out + 8 - distance);
			copy_8(at.out + 16, at.out + 16 - distance);
		} else {
			if (!read_length(&at, &len) || len + OUT_SAFE > room(&at))
				return;
			copy_match(at.out, len + MATCH_MIN, distance);
		}
		at.out += len + MATCH_MIN;
		b->in = at.in;
		b->out = at.out;
	}
}

enum lz4_step { STEP_ON, STEP_DONE, STEP_DAMAGED };

static enum lz4_step
put_literals(struct lz4_block *b, uint64_t len)
{
	size_t here = room(b), whole = here + b->beyond;
	bool last = len == input(b);
	if (len > input(b) || len > whole || last != (len == whole))
		return STEP_DAMAGED;
	if (len >= here) {
		memcpy(b->out, b->in, here);
		return STEP_DONE;
	}
	memcpy(b->out, b->in, len);
	b->in += len;
	b->out += len;
	return STEP_ON;
}

static enum lz4_step
put_match(struct lz4_block *b, uint64_t len, size_t distance)
{
	size_t here = room(b), fast = here > STEP ? here - STEP : 0;
	if (len > here + b->beyond)
		return STEP_DAMAGED;
	if (len > here)
		len = here;
	size_t most = len < fast ? len : fast;
	if (most)
		copy_match(b->out, most, distance);
	const uint8_t *from = b->out - distance;
	for (size_t i = most; i < len; i++)
		b->out[i] = from[i];
	b->out += len;
	return len == here && b->beyond ? STEP_DONE : STEP_ON;
}

static enum lz4_step
careful(struct lz4_block *b)
{
	if (b->in == b->in_end)
		return STEP_DAMAGED;
	uint8_t token = *b->in++;
	uint64_t literals = token >> 4, len = token & NIBBLE;
	size_t distance;
	if (!read_length(b, &literals))
		return STEP_DAMAGED;
	enum lz4_step s = put_literals(b, literals);
	if (s != STEP_ON)
		return s;
	if (input(b) < sizeof(uint16_t) || !read_distance(b, &distance) || !read_length(b, &len))
		return STEP_DAMAGED;
	return put_match(b, len + MATCH_MIN, distance);
}

bool
lz4_block_decode(struct span in, size_t n, size_t stop, uint8_t *out)
{
	struct lz4_block b = {in.data, in.data + in.len, out, out, out + stop, n - stop};
	enum lz4_step s;
	do {
		hurry(&b);
		s = careful(&b);
	} while (s == STEP_ON);
	return s == STEP_DONE;
}
