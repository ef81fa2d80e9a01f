#include "backends/icechunk/file.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

static const uint8_t magic[] = {
	0x49, 0x43, 0x45, 0xf0, 0x9f, 0xa7, 0x8a, 0x43, 0x48, 0x55, 0x4e, 0x4b};
static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

enum {
	AT_VERSION = 36,
	AT_TYPE = 37,
	AT_COMPRESSION = 38,
	VERSION_MAX = 2,
	PLAIN = 0,
	ZSTD = 1,
	FIRST = 64 << 10,
	/* of zstd */
	AT_DESCRIPTOR = 4,
	BLOCK_HEAD = 3,
	BLOCK_REPEATED = 1, /* one byte stands for many */
	BLOCK_PACKED = 2,
	BLOCK_MOST = 128 << 10,
	LIKELY = 16, /* times its size is what a file may come to without being doubted */
};

void
ice_id_text(const uint8_t id[static ICE_ID], char ret[static ICE_ID_TEXT + 1])
{
	for (unsigned i = 0; i < ICE_ID_TEXT; i++) {
		unsigned bit = 5 * i, byte = bit / 8;
		unsigned two = (unsigned)id[byte] << 8 | (byte + 1 < ICE_ID ? id[byte + 1] : 0);
		ret[i] = alphabet[two >> (11 - bit % 8) & 31];
	}
	ret[ICE_ID_TEXT] = 0;
}

bool
ice_id_parse(const char *text, size_t len, uint8_t ret[static ICE_ID])
{
	char again[ICE_ID_TEXT + 1];
	if (len != ICE_ID_TEXT)
		return false;
	memset(ret, 0, ICE_ID);
	for (unsigned i = 0; i < ICE_ID_TEXT; i++) {
		const char *at = text[i] ? strchr(alphabet, text[i]) : NULL;
		unsigned bit = 5 * i, byte = bit / 8;
		if (!at)
			return false;
		unsigned two = (unsigned)(at - alphabet) << (11 - bit % 8);
		ret[byte] |= (uint8_t)(two >> 8);
		if (byte + 1 < ICE_ID)
			ret[byte + 1] |= (uint8_t)two;
	}
	ice_id_text(ret, again);
	return !memcmp(text, again, ICE_ID_TEXT);
}

bool
ice_is_file(struct span s)
{
	return s.len >= sizeof magic && !memcmp(s.data, magic, sizeof magic);
}

bool
ice_may_be_early(struct span s)
{
	static const char library[] = "ic-";
	const size_t n = sizeof library - 1;
	const uint8_t *writer = s.data + sizeof magic;
	return memcmp(writer, library, n) != 0 || writer[n] < '1' || writer[n] > '9';
}

static const char *
type_name(int type)
{
	return type == ICE_SNAPSHOT ? "snapshot" : type == ICE_MANIFEST ? "manifest" : "repository";
}

static int
check_head(struct span s, enum ice_type type)
{
	if (!ice_is_file(s))
		return err_set(
			-EIO, "no Icechunk %s: it begins with something else", type_name(type));
	if (s.len < ICE_HEAD)
		return err_set(-EIO, "cut off");
	if (!s.data[AT_VERSION] || s.data[AT_VERSION] > VERSION_MAX)
		return err_set(-EIO, "of version %u of Icechunk's format, which is not known",
			s.data[AT_VERSION]);
	if (s.data[AT_TYPE] != type)
		return err_set(-EIO, "no Icechunk %s, but a file of type %u", type_name(type),
			s.data[AT_TYPE]);
	if (s.data[AT_COMPRESSION] > ZSTD)
		return err_set(-EIO, "compressed by method %u, which is not known",
			s.data[AT_COMPRESSION]);
	return 0;
}

static int
too_large(size_t max)
{
	return err_set(-EFBIG, "more than the %zu bytes that there is memory for", max);
}

/* What the blocks of a frame come to at the most, by what their heads say (RFC 8878, 3.1.1): nearly
 * what they do come to. */
static size_t
blocks_most(struct span in)
{
	static const unsigned size_bytes[] = {0, 2, 4, 8}, dictionary_bytes[] = {0, 1, 2, 4};
	if (in.len <= AT_DESCRIPTOR)
		return 0;
	const unsigned d = in.data[AT_DESCRIPTOR], single = d >> 5 & 1, flag = d >> 6;
	size_t at = AT_DESCRIPTOR + 1 + !single + dictionary_bytes[d & 3] +
		    (flag ? size_bytes[flag] : single),
	       most = 0;
	for (bool last = false; !last && at < in.len && in.len - at >= BLOCK_HEAD;) {
		const uint8_t *p = in.data + at;
		const uint32_t head = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16,
			       type = head >> 1 & 3, size = head >> 3;
		last = head & 1;
		most += type == BLOCK_PACKED ? (size_t)BLOCK_MOST : size;
		at += BLOCK_HEAD + (type == BLOCK_REPEATED ? 1 : size);
	}
	return most;
}

/* Room for all that a frame comes to, unless it says so much of so few bytes that it had better
 * come first. */
static int
make_room(struct span in, size_t max, struct buf *out)
{
	size_t most = blocks_most(in), likely = in.len < max / LIKELY ? in.len * LIKELY : max;
	most = most < likely ? most : likely;
	return most > FIRST ? buf_reserve(out, most) : 0;
}

/* One zstd frame, which mostly does not say its size: where the room is not enough, the room
 * doubles. */
static int
inflate(ZSTD_DStream *z, struct span in, size_t max, struct buf *out)
{
	ZSTD_inBuffer from = {in.data, in.len, 0};
	int r = make_room(in, max, out);
	if (r < 0)
		return r;
	for (size_t left = 1; left;) {
		if (out->len == out->cap) {
			size_t room = out->cap ? 2 * out->cap : FIRST;
			if (out->len >= max)
				return too_large(max);
			r = buf_reserve(out, room < max ? room : max);
			if (r < 0)
				return r;
		}
		ZSTD_outBuffer to = {out->data, out->cap, out->len};
		left = ZSTD_decompressStream(z, &to, &from);
		bool stuck = to.pos == out->len && from.pos == in.len;
		out->len = to.pos;
		if (ZSTD_isError(left))
			return err_set(-EIO, "damaged: %s", ZSTD_getErrorName(left));
		if (left && stuck && out->len < out->cap)
			return err_set(-EIO, "cut off");
	}
	return from.pos == in.len ? 0 : err_set(-EIO, "damaged: bytes behind its end");
}

int
ice_unpack(struct span file, enum ice_type type, size_t max, struct buf *ret)
{
	CLEAN(buf_free) struct buf out = {0};
	int r = check_head(file, type);
	if (r < 0)
		return r;
	struct span in = {file.data + ICE_HEAD, file.len - ICE_HEAD};
	if (file.data[AT_COMPRESSION] == PLAIN) {
		r = in.len > max ? too_large(max) : buf_add(&out, in.data, in.len);
	} else {
		ZSTD_DStream *z = ZSTD_createDStream();
		r = z ? inflate(z, in, max, &out) : err_set(-ENOMEM, "no memory for zstd");
		ZSTD_freeDStream(z);
	}
	if (r < 0)
		return r;
	*ret = out;
	out = (struct buf){0};
	return 0;
}

int
ice_read(struct zmap *z, const struct zmap_get *asked, enum ice_type type, uint64_t size,
	struct buf *ret, bool *early, struct zmap_stat *stat)
{
	CLEAN(buf_free) struct buf file = {0};
	struct zmap_get g = *asked;
	g.into = &file;
	g.len = size < g.max ? (size_t)size : g.max;
	int r = zmap_get(z, &g, stat);
	if (r == 0 && size && file.len != size)
		r = err_set(-EIO, "%zu bytes instead of %llu", file.len, (unsigned long long)size);
	if (r == 0)
		r = ice_unpack(buf_span(&file), type, asked->max, ret);
	if (r == 0 && early)
		*early = ice_may_be_early(buf_span(&file));
	return r < 0 ? err_add(r, "%s '%s'", type_name(type), g.key) : r;
}

bool
ice_is_nothing(int r)
{
	return r == -EACCES || r == -EISDIR || r == -ENOTDIR || r == -EFBIG || r == -ENOENT;
}
