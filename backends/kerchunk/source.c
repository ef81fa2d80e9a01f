#include "backends/kerchunk/source.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum {
	FETCH = 1 << 20, /* bytes of a request of a local store */
	FETCH_REMOTE = 8 << 20,
	OUTPUT = 256 << 10,
	PLAIN_MOST = 64 << 20, /* unpacked bytes that are never too many … */
	RATIO_MOST = 400, /* … and beyond them, for each byte that was fetched: JSON packs to a
			     fiftieth or so */
};

enum packing { PLAIN, GZIP, ZSTD };

struct kerchunk_source {
	struct kerchunk_text text;
	struct zmap *zmap;
	char *key;
	char version[ZMAP_VERSION];
	uint64_t size, fetched, made;
	struct buf raw; /* fetched, from `at` on not used */
	size_t at;
	enum packing packing;
	bool between; /* of gzip members or zstd frames, where a file may end */
	z_stream gzip;
	ZSTD_DStream *zstd;
};

static const uint8_t gzip_magic[] = {0x1f, 0x8b}, zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

static bool
begins(struct span s, const uint8_t *magic, size_t len)
{
	return s.len >= len && !memcmp(s.data, magic, len);
}

static enum packing
packing_of(struct span s)
{
	return begins(s, gzip_magic, sizeof gzip_magic)   ? GZIP
	       : begins(s, zstd_magic, sizeof zstd_magic) ? ZSTD
							  : PLAIN;
}

bool
kerchunk_source_likely(struct span s)
{
	static const uint8_t mark[] = {0xef, 0xbb, 0xbf};
	if (packing_of(s) != PLAIN)
		return true;
	size_t i = begins(s, mark, sizeof mark) ? sizeof mark : 0;
	while (i < s.len && s.data[i] <= ' ' && s.data[i])
		i++;
	return i < s.len && s.data[i] == '{';
}

/* --- bytes of the object --- */

static int
changed(const struct kerchunk_source *s)
{
	return err_set(-EAGAIN, "'%s' was replaced while it was read", s->key);
}

/* More of the object; at its end nothing. */
static int
fetch(struct kerchunk_source *s, struct zmap_stat *stat)
{
	size_t len = s->zmap->caps & ZMAP_REMOTE ? FETCH_REMOTE : FETCH;
	s->raw.len = s->at = 0;
	const struct zmap_get g = {.key = s->key,
		.off = s->fetched,
		.len = len,
		.if_match = *s->version ? s->version : NULL,
		.revalidate = true,
		.into = &s->raw,
		.max = len};
	if (s->fetched && s->fetched >= s->size)
		return 0;
	int r = zmap_get(s->zmap, &g, stat);
	if (r == ZMAP_ABSENT)
		return err_set(-ENOENT, "there is no '%s'", s->key);
	if (r == 0 && !s->fetched) {
		s->size = stat->size;
		memcpy(s->version, stat->version, sizeof s->version);
	}
	if (r < 0)
		return r;
	if (r == ZMAP_CHANGED || stat->size != s->size ||
		s->raw.len != min_u64(len, s->size - s->fetched))
		return changed(s);
	s->fetched += s->raw.len;
	return 0;
}

/* --- unpacking --- */

static int
bad(const struct kerchunk_source *s, const char *why)
{
	return err_set(-EINVAL, "'%s': %s", s->key, why);
}

static int
more_plain(struct kerchunk_source *s, struct buf *into)
{
	int r = buf_add(into, s->raw.data + s->at, s->raw.len - s->at);
	s->at = s->raw.len;
	return r < 0 ? err_set(-ENOMEM, "no memory for references") : 0;
}

static int
more_gzip(struct kerchunk_source *s, struct buf *into)
{
	z_stream *z = &s->gzip;
	if (s->between && inflateReset(z) != Z_OK)
		return err_set(-ENOMEM, "no memory to unpack '%s'", s->key);
	s->between = false;
	z->next_in = s->raw.data + s->at;
	z->avail_in = (uInt)(s->raw.len - s->at);
	z->next_out = into->data + into->len;
	z->avail_out = OUTPUT;
	int r = inflate(z, Z_NO_FLUSH);
	if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
		return bad(s, "gzip data that make no sense");
	into->len += OUTPUT - z->avail_out;
	s->at = s->raw.len - z->avail_in;
	s->between = r == Z_STREAM_END;
	return 0;
}

static int
more_zstd(struct kerchunk_source *s, struct buf *into)
{
	ZSTD_inBuffer in = {s->raw.data, s->raw.len, s->at};
	ZSTD_outBuffer out = {into->data + into->len, OUTPUT, 0};
	size_t r = ZSTD_decompressStream(s->zstd, &out, &in);
	if (ZSTD_isError(r))
		return bad(s, ZSTD_getErrorName(r));
	into->len += out.pos;
	s->at = in.pos;
	s->between = r == 0;
	return 0;
}

static int
unpack(struct kerchunk_source *s, struct buf *into)
{
	if (s->packing == PLAIN)
		return more_plain(s, into);
	if (buf_reserve(into, into->len + OUTPUT) < 0)
		return err_set(-ENOMEM, "no memory to unpack '%s'", s->key);
	return s->packing == GZIP ? more_gzip(s, into) : more_zstd(s, into);
}

static int
more(struct kerchunk_text *text, size_t wish, struct buf *into)
{
	struct kerchunk_source *s = (struct kerchunk_source *)text;
	size_t before = into->len;
	while (into->len - before < wish) {
		size_t had = into->len;
		struct zmap_stat stat = {0};
		int r = s->at == s->raw.len ? fetch(s, &stat) : 0;
		bool end = s->at == s->raw.len;
		if (r == 0 && !(end && (s->packing == PLAIN || s->between)))
			r = unpack(s, into);
		if (r < 0)
			return r;
		s->made += into->len - had;
		if (s->made > PLAIN_MOST && s->made / RATIO_MOST > s->fetched)
			return err_set(-EFBIG, "'%s' unpacks to more than %" PRIu64 " bytes",
				s->key, s->made);
		if (end && into->len == had) {
			if (s->packing != PLAIN && !s->between)
				return bad(s, "it is cut off");
			break;
		}
	}
	return into->len > before;
}

/* --- opening --- */

static int
start(struct kerchunk_source *s)
{
	enum { GZIP_WINDOW = 15 + 16 };
	s->packing = packing_of(buf_span(&s->raw));
	bool ok = s->packing == PLAIN ||
		  (s->packing == GZIP && inflateInit2(&s->gzip, GZIP_WINDOW) == Z_OK) ||
		  (s->packing == ZSTD && (s->zstd = ZSTD_createDStream()));
	return ok ? 0 : err_set(-ENOMEM, "no memory to unpack '%s'", s->key);
}

int
kerchunk_source_open(struct zmap *zmap, const char *key, struct kerchunk_source **ret,
	struct zmap_stat *ret_stat)
{
	CLEAN(kerchunk_source_freep) struct kerchunk_source *s = calloc(1, sizeof *s);
	struct zmap_stat stat = {0};
	if (!s || !(s->key = strdup(key)))
		return err_set(-ENOMEM, "no memory for references");
	s->text.more = more;
	s->zmap = zmap;
	int r = fetch(s, &stat);
	if (r == 0)
		r = start(s);
	if (r < 0)
		return r;
	*ret_stat = stat;
	*ret = MOVE(s);
	return 0;
}

struct kerchunk_source *
kerchunk_source_free(struct kerchunk_source *s)
{
	if (!s)
		return NULL;
	if (s->packing == GZIP)
		inflateEnd(&s->gzip);
	ZSTD_freeDStream(s->zstd);
	buf_free(&s->raw);
	free(s->key);
	free(s);
	return NULL;
}

struct kerchunk_text *
kerchunk_source_text(struct kerchunk_source *s)
{
	return &s->text;
}
