/* Parts of deflated members. Inflating goes from the start only, so where a reader stopped is kept
 * for a while: one that reads a member from front to back in pieces inflates it once. */
#include "backends/zip/zip.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <string.h>
#include <zlib.h>

enum { PIECE = 256 << 10, DISCARD = 64 << 10 };

/* Owned by one reader, or parked. */
struct zip_stream {
	z_stream zs;
	uint64_t serial, header; /* which member of which archive */
	uint64_t in, out;        /* bytes gone in and come out so far */
	uint32_t crc;            /* of those that came out */
};

struct zip_stream *
zip_stream_free(struct zip_stream *s)
{
	if (!s)
		return NULL;
	inflateEnd(&s->zs);
	free(s);
	return NULL;
}
CLEAN_DEFINE(struct zip_stream, zip_stream_free)

static struct zip_stream *
take_parked(const struct zip_reading *r)
{
	struct zip_store *p = r->zip;
	LOCKED(&p->lock) {
		for (unsigned i = 0; i < ZIP_PARKED; i++) {
			struct zip_stream *s = p->parked[i];
			if (s && s->serial == r->archive->serial &&
				s->header == r->member->header && s->out <= r->off)
				return MOVE(p->parked[i]);
		}
	}
	return NULL;
}

static void
park(struct zip_store *p, struct zip_stream *s)
{
	CLEAN(zip_stream_freep) struct zip_stream *old = NULL;
	LOCKED(&p->lock) {
		unsigned i = p->next_parked++ % ZIP_PARKED;
		old = p->parked[i];
		p->parked[i] = s;
	}
}

static struct zip_stream *
start(const struct zip_reading *r)
{
	struct zip_stream *s = calloc(1, sizeof *s);
	if (!s || inflateInit2(&s->zs, -MAX_WBITS) != Z_OK) {
		free(s);
		err_set(-ENOMEM, "no memory to inflate a member");
		return NULL;
	}
	s->serial = r->archive->serial;
	s->header = r->member->header;
	return s;
}

static int
more_input(const struct zip_reading *r, struct zip_stream *s, uint64_t begin, struct buf *in)
{
	size_t n = min_u64(PIECE, r->member->stored - s->in);
	in->len = 0;
	int result = n ? zip_fetch(r, begin + s->in, n, in)
		       : err_set(-EIO, "its deflated bytes are cut short");
	s->zs.next_in = in->data;
	s->zs.avail_in = (unsigned)n;
	s->in += n;
	return result;
}

/* Some more bytes to `to`, at most n. What came, or -errno. */
static int64_t
inflate_some(struct zip_stream *s, uint8_t *to, size_t n)
{
	s->zs.next_out = to;
	s->zs.avail_out = (unsigned)min_u64(n, 1 << 30);
	unsigned room = s->zs.avail_out;
	int z = inflate(&s->zs, Z_NO_FLUSH);
	size_t got = room - s->zs.avail_out;
	s->crc = libdeflate_crc32(s->crc, to, got);
	s->out += got;
	if ((z != Z_OK && z != Z_BUF_ERROR && z != Z_STREAM_END) || (z == Z_STREAM_END && got < n))
		return err_set(-EIO, "its deflated bytes are damaged");
	return (int64_t)got;
}

/* Inflates up to the end of what is wanted; `to` has room for that. */
static int
run(const struct zip_reading *r, struct zip_stream *s, uint64_t begin, uint8_t *to)
{
	uint64_t end = r->off + r->len;
	CLEAN(buf_free) struct buf in = {0};
	CLEAN(clean_free) uint8_t *nowhere = s->out < r->off ? malloc(DISCARD) : NULL;
	if (s->out < r->off && !nowhere)
		return err_set(-ENOMEM, "no memory to inflate a member");
	while (s->out < end) {
		int result = s->zs.avail_in ? 0 : more_input(r, s, begin, &in);
		if (result)
			return result;
		int64_t got = s->out < r->off
				      ? inflate_some(s, nowhere, min_u64(DISCARD, r->off - s->out))
				      : inflate_some(s, to + (s->out - r->off), end - s->out);
		if (got < 0)
			return (int)got;
	}
	s->in -= s->zs.avail_in; /* comes again */
	s->zs.avail_in = 0;
	return 0;
}

int
zip_stream_read(const struct zip_reading *r)
{
	struct buf *into = r->get->into;
	const struct zip_member *m = r->member;
	CLEAN(zip_stream_freep) struct zip_stream *s = take_parked(r);
	uint64_t begin = 0;
	if (!s)
		s = start(r);
	int result = s ? zip_find_bytes(r, &begin) : -ENOMEM;
	if (result == 0)
		result = buf_reserve(into, into->len + r->len);
	if (result == 0)
		result = run(r, s, begin, into->data + into->len);
	if (result == 0 && s->out == m->size && s->crc != m->crc)
		result = err_set(-EIO, "checksum (CRC-32) is %08" PRIx32 " instead of %08" PRIx32,
			s->crc, m->crc);
	if (result)
		return result;
	into->len += r->len;
	if (s->out < m->size)
		park(r->zip, MOVE(s));
	return 0;
}
