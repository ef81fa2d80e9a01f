#include "backends/net/body.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool
strong(const char *etag)
{
	return *etag == '"';
}

void
body_restart(struct body *b)
{
	if (b->ask->into)
		b->ask->into->len = b->start;
	b->got = 0;
	b->placed = b->whole = false;
	*b->etag = 0;
}

void
body_attempt(struct body *b)
{
	bool all =
		b->ask->len && b->got >= b->ask->len; /* only the end of the answer was missing */
	if (!strong(b->etag) || b->tail || b->whole || all)
		body_restart(b);
	b->begun = b->tail = b->unsized = false;
	b->skip = 0;
	b->want = UINT64_MAX;
	b->missing = 0;
}

static uint64_t
first_byte(const struct body *b)
{
	const struct client_ask *a = b->ask;
	uint64_t off = b->placed ? b->first : a->from_end ? 0 : a->off;
	return add_over(off, b->got, &off) ? UINT64_MAX : off;
}

/* Servers count in signed 64 bits. */
static uint64_t
sane(uint64_t off)
{
	return min_u64(off, INT64_MAX - 1);
}

void
body_range(const struct body *b, char *ret)
{
	const struct client_ask *a = b->ask;
	uint64_t off = sane(first_byte(b)), end;
	*ret = 0;
	if (a->from_end && !b->placed) {
		if (a->len)
			snprintf(ret, BODY_RANGE, "bytes=-%zu", a->len);
	} else if (a->len) {
		if (add_over(off, a->len - b->got - 1, &end))
			end = UINT64_MAX;
		snprintf(ret, BODY_RANGE, "bytes=%" PRIu64 "-%" PRIu64, off, sane(end));
	} else if (off) {
		snprintf(ret, BODY_RANGE, "bytes=%" PRIu64 "-", off);
	}
}

static int
too_many(const struct body *b, uint64_t n)
{
	return err_set(-EFBIG, "%" PRIu64 " bytes, where at most %zu can be right", n, b->ask->max);
}

/* n more bytes will come. */
static int
make_room(struct body *b, uint64_t n)
{
	struct buf *into = b->ask->into;
	if (!into)
		return 0;
	if (n > b->ask->max - b->got)
		return too_many(b, n + b->got);
	return buf_reserve(into, into->len + (size_t)n);
}

static int
begin_part(struct body *b, const struct head *h)
{
	const struct client_ask *a = b->ask;
	uint64_t n = h->last - h->first + 1, first = first_byte(b);
	if (!h->has_range)
		return err_set(-EIO, "a partial answer without Content-Range");
	if (a->from_end && !b->placed) {
		first = h->has_total && a->len < h->total ? h->total - a->len : 0;
		if (h->has_total || h->last + 1 == a->len) {
			b->placed = true;
			b->first = first;
		}
	}
	if (h->first != first || (a->len && n > a->len - b->got) ||
		(!b->placed && a->from_end && a->len))
		return err_set(-EIO, "an answer for other bytes: %" PRIu64 " to %" PRIu64, h->first,
			h->last);
	uint64_t rest = h->has_total ? h->total - first : n;
	b->want = n;
	b->missing = (a->len ? min_u64(rest, a->len - b->got) : rest) - n;
	return make_room(b, n);
}

static int
begin_whole(struct body *b, const struct head *h)
{
	const struct client_ask *a = b->ask;
	if (a->from_end && a->len && !b->placed && !h->has_length) {
		b->tail = true;
		return 0;
	}
	if (a->from_end && !b->placed) {
		b->whole = h->length <= a->whole;
		b->first = !b->whole && a->len && a->len < h->length ? h->length - a->len : 0;
		b->placed = true;
	}
	b->skip = first_byte(b);
	b->want = a->len && !b->whole ? a->len - b->got : UINT64_MAX;
	b->unsized = !h->has_length;
	if (b->unsized)
		return 0;
	b->want = min_u64(b->want, h->length - min_u64(b->skip, h->length));
	return make_room(b, b->want);
}

int
body_begin(struct body *b, const struct head *h)
{
	b->begun = true;
	if (!b->ask->into)
		return 0;
	const char *etag = h->reply->etag;
	if (b->got && strcmp(b->etag, etag)) {
		if (h->reply->status == 206) {
			body_restart(b);
			return err_set(-EIO, "it changed while it was read");
		}
		body_restart(b);
	}
	memcpy(b->etag, etag, sizeof b->etag);
	return h->reply->status == 206 ? begin_part(b, h) : begin_whole(b, h);
}

/* Keeps the last bytes only. */
static int
take_tail(struct body *b, const uint8_t *data, size_t len)
{
	struct buf *into = b->ask->into;
	size_t keep = b->ask->len;
	int r = buf_add(into, data, len);
	if (r < 0)
		return r;
	b->got += len;
	if (b->got > keep && b->got - keep > keep + (1 << 20)) {
		memmove(into->data + b->start, into->data + into->len - keep, keep);
		into->len = b->start + keep;
		b->got = keep;
	}
	return 0;
}

int
body_take(struct body *b, const void *data, size_t len)
{
	struct buf *into = b->ask->into;
	const uint8_t *p = data;
	if (!into)
		return 0;
	if (b->tail)
		return take_tail(b, p, len);
	size_t skip = (size_t)min_u64(b->skip, len);
	b->skip -= skip;
	p += skip;
	len -= skip;
	size_t n = (size_t)min_u64(b->want, len);
	if (n > b->ask->max - b->got)
		return too_many(b, b->got + n);
	int r = buf_add(into, p, n);
	if (r < 0)
		return r;
	b->got += n;
	if (b->want != UINT64_MAX)
		b->want -= n;
	return b->want ? 0 : BODY_ENOUGH;
}

static int
end_tail(struct body *b)
{
	struct buf *into = b->ask->into;
	size_t keep = b->ask->len < b->got ? b->ask->len : b->got;
	if (keep > b->ask->max)
		return too_many(b, keep);
	if (keep)
		memmove(into->data + b->start, into->data + into->len - keep, keep);
	into->len = b->start + keep;
	b->got = keep;
	return 0;
}

int
body_end(struct body *b)
{
	if (!b->ask->into || !b->begun)
		return 0;
	if (b->tail)
		return end_tail(b);
	uint64_t missing = b->missing + (b->unsized ? 0 : b->want);
	return missing ? err_set(-EIO, "truncated: %" PRIu64 " bytes are missing", missing) : 0;
}
