/* What a web server may say: bytes 0 to 7 are the request, then come answers, each header lines up
 * to an empty one, and a body up to the next line "HTTP/…". The attempts are one after another, as
 * after a connection that broke off. */
#include "backends/net/body.h"
#include "base/clean.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at, *end;
};

static void
read_lines(struct input *in, struct head *h)
{
	while (in->at < in->end) {
		const uint8_t *nl = memchr(in->at, '\n', (size_t)(in->end - in->at));
		size_t n = nl ? (size_t)(nl - in->at) : (size_t)(in->end - in->at);
		head_line(h, (const char *)in->at, n);
		in->at += n + (nl != NULL);
		if (n == 0 || (n == 1 && in->at[-2] == '\r'))
			return;
	}
}

static size_t
body_length(const struct input *in)
{
	const uint8_t *next = memmem(in->at, (size_t)(in->end - in->at), "HTTP/", 5);
	return (size_t)((next ? next : in->end) - in->at);
}

/* 0: all of it came. */
static int
read_body(struct input *in, struct body *b, const struct head *h, size_t step)
{
	size_t n = body_length(in);
	int r = body_begin(b, h);
	const uint8_t *p = in->at, *end = p + n;
	in->at = end;
	for (; r == 0 && p < end; p += n) {
		n = (size_t)(end - p) < step ? (size_t)(end - p) : step;
		r = body_take(b, p, n);
	}
	return r == 0 || r == BODY_ENOUGH ? body_end(b) : r;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data + 8, data + size};
	CLEAN(buf_free) struct buf into = {0};
	struct client_reply reply = {0};
	struct client_ask ask = {.into = &into};
	char range[BODY_RANGE];
	if (size < 8 || buf_add(&into, "head", 4) < 0)
		return 0;
	ask.off = data[0] & 1 ? UINT64_MAX - data[1] : data[1];
	ask.len = data[0] & 2 ? SIZE_MAX - data[2] : data[2];
	ask.from_end = data[0] & 4;
	ask.max = data[0] & 8 ? 1 << 20 : data[3];
	struct body b = {.ask = &ask, .start = 4};
	for (unsigned i = 0; i < 4 && in.at < in.end; i++) {
		struct head h = {.reply = &reply};
		body_attempt(&b);
		body_range(&b, range);
		assert(strlen(range) < sizeof range);
		read_lines(&in, &h);
		bool good = reply.status == 200 || reply.status == 206;
		int r = good ? read_body(&in, &b, &h, data[4] ? data[4] : 1) : -1;
		assert(into.len >= 4 && !memcmp(into.data, "head", 4));
		assert(into.len == 4 + b.got);
		if (r == 0) {
			assert(b.got <= ask.max);
			assert(!ask.len || b.got <= ask.len);
			break;
		}
	}
	body_restart(&b);
	assert(into.len == 4);
	return 0;
}
