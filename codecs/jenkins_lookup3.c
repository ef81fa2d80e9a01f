/* Bob Jenkins' lookup3 (hashlittle) of "prefix" and the data, starting from "initval"; behind the
 * data. */
#include "codecs/checksum.h"

#include "base/err.h"
#include "base/lookup3.h"

#include <errno.h>
#include <string.h>

/* With a prefix, the twelve-byte blocks do not lie where the data's do: its few bytes are joined
 * with the data's first ones until both meet again. */
static uint32_t
sum(const struct checksum *c, const uint8_t *p, size_t n)
{
	size_t before = c->prefix.len;
	if (!before)
		return lookup3(p, n, c->start_value);
	struct lookup3 s = lookup3_begin(before + n, c->start_value);
	uint8_t block[LOOKUP3_BLOCK] = {0};
	size_t fill = 0, total = before + n;
	for (size_t i = 0; i < total; i++) {
		if (fill == LOOKUP3_BLOCK) {
			lookup3_add(&s, block);
			memset(block, 0, sizeof block);
			fill = 0;
		}
		block[fill++] = i < before ? c->prefix.data[i] : p[i - before];
	}
	return lookup3_end(&s, block);
}

static int
read_prefix(const struct json *config, struct buf *ret)
{
	const struct json *j = config ? json_get(config, "prefix") : NULL;
	if (!j || json_type(j) == JSON_TYPE_NULL)
		return 0;
	if (json_type(j) == JSON_TYPE_TEXT) {
		size_t len;
		const char *text = json_text(j, &len);
		return buf_add(ret, text, len);
	}
	for (size_t i = 0; i < json_count(j); i++) {
		uint64_t v;
		if (json_uint(json_at(j, i), &v) < 0 || v > UINT8_MAX)
			return err_set(-EINVAL, "'prefix' is not a list of bytes");
		int r = buf_add(ret, &(uint8_t){(uint8_t)v}, 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
jenkins_lookup3_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	int64_t start_value;
	int r = codec_number(config, "initval", 0, 0, UINT32_MAX, &start_value);
	if (r < 0)
		return r;
	struct checksum how = {.sum = sum, .start_value = (uint32_t)start_value};
	r = read_prefix(config, &how.prefix);
	if (r == 0)
		r = checksum_open(&how, config, in, out, ret);
	if (r < 0)
		buf_free(&how.prefix);
	return r;
}

const struct codec_ops codec_jenkins_lookup3 = {
	.ids = (const char *const[]){"jenkins_lookup3", "numcodecs.jenkins_lookup3", NULL},
	.kind = CODEC_BYTES,
	.open = jenkins_lookup3_open,
	.close = checksum_close,
	.decode = checksum_decode,
	.encode = checksum_encode,
};
