#include "backends/kerchunk/snappy.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

enum { LITERAL, COPY_1, COPY_2, COPY_4 };

struct snappy {
	const uint8_t *at, *end;
	uint8_t *to;
	size_t done, len;
};

static int
bad(void)
{
	return err_set(-EIO, "snappy data make no sense");
}

/* n little-endian bytes. */
static bool
number(struct snappy *s, unsigned n, uint32_t *ret)
{
	if ((size_t)(s->end - s->at) < n)
		return false;
	*ret = 0;
	for (unsigned i = 0; i < n; i++)
		*ret |= (uint32_t)*s->at++ << 8 * i;
	return true;
}

static int
literal(struct snappy *s, uint8_t tag)
{
	enum { SHORT = 60 };
	uint32_t len = tag >> 2;
	if (len >= SHORT && !number(s, len - SHORT + 1, &len))
		return bad();
	size_t n = (size_t)len + 1;
	if (n > (size_t)(s->end - s->at) || n > s->len - s->done)
		return bad();
	memcpy(s->to + s->done, s->at, n);
	s->at += n;
	s->done += n;
	return 0;
}

static int
copy(struct snappy *s, uint8_t tag)
{
	size_t n = (tag >> 2) + 1u;
	uint32_t back, more;
	unsigned kind = tag & 3;
	if (!number(s, kind == COPY_1 ? 1 : kind == COPY_2 ? 2 : 4, &more))
		return bad();
	back = more;
	if (kind == COPY_1) {
		n = (tag >> 2 & 7) + 4u;
		back |= (uint32_t)(tag >> 5) << 8;
	}
	if (!back || back > s->done || n > s->len - s->done)
		return bad();
	for (; n; n--, s->done++) /* the two may overlap */
		s->to[s->done] = s->to[s->done - back];
	return 0;
}

int
kerchunk_snappy(struct span from, uint8_t *to, size_t len)
{
	struct snappy s = {.at = from.data, .end = from.data + from.len, .to = to, .len = len};
	uint64_t claimed = 0;
	uint8_t b = 0x80;
	for (unsigned shift = 0; shift < 35 && b & 0x80; shift += 7) {
		if (s.at == s.end)
			return bad();
		b = *s.at++;
		claimed |= (uint64_t)(b & 0x7f) << shift;
	}
	if (b & 0x80 || claimed != len)
		return bad();
	while (s.at < s.end) {
		uint8_t tag = *s.at++;
		int r = (tag & 3) == LITERAL ? literal(&s, tag) : copy(&s, tag);
		if (r < 0)
			return r;
	}
	return s.done == len ? 0 : bad();
}
