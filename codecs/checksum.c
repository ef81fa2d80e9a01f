#include "codecs/checksum.h"

#include "base/check.h"
#include "base/err.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { SUM = 4 };

int
checksum_open(const struct checksum *how, const struct json *config, const struct form *in,
	struct form *out, void **ret)
{
	const struct json *where = config ? json_get(config, "location") : NULL;
	bool at_start = how->at_start;
	if (where && json_type(where) != JSON_TYPE_NULL) {
		at_start = json_is(where, "start");
		if (!at_start && !json_is(where, "end"))
			return err_set(-EINVAL, "'location' is neither 'start' nor 'end'");
	}
	uint64_t bytes;
	if (add_over(in->bytes, SUM, &bytes))
		bytes = SIZE_MAX;
	struct checksum *c = malloc(sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "out of memory");
	*c = *how;
	c->at_start = at_start;
	out->bytes = bytes;
	out->exact = in->exact;
	*ret = c;
	return 0;
}

void
checksum_close(void *obj)
{
	struct checksum *c = obj;
	buf_free(&c->prefix);
	free(c);
}

int
checksum_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct checksum *c = obj;
	if (in.len < SUM)
		return err_set(-EIO, "%zu bytes are too few for a checksum", in.len);
	size_t n = in.len - SUM;
	if (n > form->bytes || (form->exact && n != form->bytes))
		return err_set(
			-EIO, "%zu bytes before the checksum instead of %zu", n, form->bytes);
	uint32_t stored;
	memcpy(&stored, c->at_start ? in.data : in.data + n, sizeof stored);
	stored = le32toh(stored);
	const uint8_t *data = c->at_start ? in.data + SUM : in.data;
	uint32_t sum = c->sum(c, data, n);
	if (sum != stored)
		return err_set(-EIO, "checksum is %08" PRIx32 ", not %08" PRIx32 " as stored", sum,
			stored);
	memcpy(out->data, data, n);
	out->len = n;
	return 0;
}

int
checksum_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct checksum *c = obj;
	int r = buf_reserve(out, in.len + SUM);
	if (r < 0)
		return r;
	uint32_t sum = htole32(c->sum(c, in.data, in.len));
	uint8_t *to = out->data;
	if (c->at_start)
		to = mempcpy(to, &sum, SUM);
	if (in.len)
		to = mempcpy(to, in.data, in.len);
	if (!c->at_start)
		memcpy(to, &sum, SUM);
	out->len = in.len + SUM;
	return 0;
}
