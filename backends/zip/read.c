/* The bytes of a member. One request brings a whole member: where its bytes begin depends on a
 * length that only its local header has, and which is guessed from the last one seen; checksum or
 * header tell whether that was right. */
#include "backends/zip/zip.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <string.h>

enum {
	LOCAL = 0x04034b50,
	LOCAL_LEN = 30,
	PIECE = 256 << 10,
	SLACK = 1 << 16, /* bytes that deflate may add to data that do not shrink, and to short
			    ones */
};

bool
zip_kept(const struct zip_reading *r, uint64_t off, uint64_t len)
{
	const struct archive *a = r->archive;
	uint64_t size = a->stat.size;
	return !r->get->bypass_cache && off >= size - a->kept.len && off <= size &&
	       len <= size - off;
}

/* Of what others are understood by, no more than a look is saved. */
static bool
known_now(const struct zip_reading *r)
{
	int64_t age = clock_now() - atomic_load(&r->archive->known), keep = r->zip->keep;
	return age < keep && (!r->get->revalidate || age < ZIP_LOOK_REMOTE || keep == INT64_MAX);
}

static int
gone(const struct zip_reading *r)
{
	return err_set(-EIO, "the archive '%s' is gone", r->zip->key);
}

static int
fetch(const struct zip_reading *r, uint64_t off, size_t len, struct buf *into)
{
	const struct zmap_stat *want = &r->archive->stat;
	struct zmap_stat s;
	size_t before = into->len;
	int64_t began = clock_now();
	const struct zmap_get g = {
		.key = r->zip->key,
		.off = off,
		.len = len,
		.if_match = *want->version ? want->version : NULL,
		.into = into,
		.max = len,
		.deadline = r->get->deadline,
		.cancel = r->get->cancel,
	};
	int result = zmap_get(r->zip->lower, &g, &s);
	if (result == ZMAP_ABSENT)
		return gone(r);
	if (result == 0 && (into->len - before != len || s.size != want->size)) {
		into->len = before;
		return ZMAP_CHANGED;
	}
	if (result == 0)
		atomic_store(&r->archive->known, began);
	return result;
}

/* 0: it is still the same archive. Where no parts can be had, a byte would be all of it. */
static int
ask_again(const struct zip_reading *r)
{
	const struct archive *a = r->archive;
	CLEAN(buf_free) struct buf byte = {0};
	struct zmap_stat s;
	int64_t began = clock_now();
	if (!a->whole)
		return fetch(r, 0, 1, &byte);
	int result = zmap_stat(r->zip->lower, r->zip->key, &s);
	if (result == ZMAP_ABSENT)
		return gone(r);
	if (result == 0 && (s.size != a->stat.size || strcmp(s.version, a->stat.version)))
		return ZMAP_CHANGED;
	if (result == 0)
		atomic_store(&r->archive->known, began);
	return result;
}

int
zip_fetch(const struct zip_reading *r, uint64_t off, size_t len, struct buf *into)
{
	if (!len)
		return 0;
	if (!zip_kept(r, off, len))
		return fetch(r, off, len, into);
	int result = known_now(r) ? 0 : ask_again(r);
	const struct archive *a = r->archive;
	const uint8_t *end = a->kept.data + a->kept.len;
	return result ? result : buf_add(into, end - (a->stat.size - off), len);
}

static atomic_ullong *
begin_of(const struct zip_reading *r)
{
	return &r->archive->begin[r->member - r->archive->index->member];
}

static uint16_t
u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

/* Reads a local header, of which there are LOCAL_LEN bytes. */
static int
read_local(const struct zip_reading *r, const uint8_t *p, uint64_t *ret)
{
	const struct zip_member *m = r->member;
	uint32_t magic = u16(p) | (uint32_t)u16(p + 2) << 16;
	if (magic != LOCAL || (u16(p + 26) != m->name && !m->renamed))
		return err_set(-EIO, "the archive is damaged: no header of this member where it "
				     "should be");
	if (u16(p + 8) != m->method)
		return err_set(-EIO, "the archive is damaged: a member is compressed in two ways");
	uint64_t begin = m->header + LOCAL_LEN + u16(p + 26) + u16(p + 28);
	if (begin > r->archive->stat.size || m->stored > r->archive->stat.size - begin)
		return err_set(-EIO, "the archive is damaged: a member goes beyond its end");
	atomic_store(&r->zip->extra, u16(p + 28));
	atomic_store(begin_of(r), begin);
	*ret = begin;
	return 0;
}

int
zip_find_bytes(const struct zip_reading *r, uint64_t *ret)
{
	uint64_t known = atomic_load(begin_of(r));
	if (known) {
		*ret = known;
		return 0;
	}
	CLEAN(buf_free) struct buf b = {0};
	int result = zip_fetch(r, r->member->header, LOCAL_LEN, &b);
	return result ? result : read_local(r, b.data, ret);
}

static int
check_sum(const struct zip_member *m, uint32_t crc)
{
	return crc == m->crc
		       ? 0
		       : err_set(-EIO, "checksum (CRC-32) is %08" PRIx32 " instead of %08" PRIx32,
				 crc, m->crc);
}

/* Where the bytes begin, if its header is like the one seen before; 0 if it cannot be. */
static uint64_t
guess(const struct zip_reading *r)
{
	const struct zip_member *m = r->member;
	uint64_t begin = m->header + LOCAL_LEN + m->name + atomic_load(&r->zip->extra);
	return begin <= r->archive->stat.size && m->stored <= r->archive->stat.size - begin ? begin
											    : 0;
}

/* In pieces where requests cost nothing: the sum of what lies in the processor's cache takes half
 * the time. */
static int
read_stored_at(const struct zip_reading *r, uint64_t begin)
{
	struct buf *into = r->get->into;
	size_t before = into->len, piece = r->zip->lower->caps & ZMAP_REMOTE ? r->len : PIECE;
	uint32_t crc = 0;
	int result = buf_reserve(into, into->len + r->len);
	for (size_t at = 0, n; at < r->len && result == 0; at += n) {
		n = min_u64(piece, r->len - at);
		result = zip_fetch(r, begin + at, n, into);
		if (result == 0)
			crc = libdeflate_crc32(crc, into->data + before + at, n);
	}
	if (result == 0)
		result = check_sum(r->member, crc);
	if (result)
		into->len = before;
	return result;
}

static int
read_stored(const struct zip_reading *r)
{
	uint64_t known = atomic_load(begin_of(r)), begin = known ? known : guess(r);
	int result = begin ? read_stored_at(r, begin) : -EIO;
	if (result == -EIO && !known) { /* perhaps guessed wrongly */
		result = zip_find_bytes(r, &begin);
		if (result == 0)
			result = read_stored_at(r, begin);
	}
	if (result == 0)
		atomic_store(begin_of(r), begin);
	return result;
}

bool
zip_foretell(const struct zip_reading *r, uint64_t *ret)
{
	const struct zip_member *m = r->member;
	uint64_t known = atomic_load(begin_of(r));
	if (m->encrypted || m->method != ZIP_STORED || m->stored != m->size || r->off ||
		r->len != m->size || !r->len)
		return false;
	*ret = known ? known : guess(r);
	return *ret;
}

int
zip_confirm(const struct zip_reading *r, uint64_t begin)
{
	const struct buf *b = r->get->into;
	int result = check_sum(r->member, libdeflate_crc32(0, b->data + b->len - r->len, r->len));
	if (result == 0)
		atomic_store(begin_of(r), begin);
	return result;
}

static int
read_stored_part(const struct zip_reading *r)
{
	uint64_t begin;
	int result = zip_find_bytes(r, &begin);
	return result ? result : zip_fetch(r, begin + r->off, r->len, r->get->into);
}

static void
clean_inflater(struct libdeflate_decompressor **p)
{
	if (*p)
		libdeflate_free_decompressor(*p);
}

static int
inflate_whole(const struct zip_reading *r, struct span in)
{
	const struct zip_member *m = r->member;
	struct buf *into = r->get->into;
	CLEAN(clean_inflater)
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	int result = d ? buf_reserve(into, into->len + r->len)
		       : err_set(-ENOMEM, "no memory to inflate a member");
	if (result < 0)
		return result;
	uint8_t *to = into->data + into->len;
	size_t got = 0;
	if (libdeflate_deflate_decompress(d, in.data, in.len, to, r->len, &got) !=
			LIBDEFLATE_SUCCESS ||
		got != r->len)
		return err_set(-EIO, "its deflated bytes are damaged");
	result = check_sum(m, libdeflate_crc32(0, to, r->len));
	if (result == 0)
		into->len += r->len;
	return result;
}

/* Header and bytes together; what is missing where the header is longer than guessed comes
 * after. */
static int
read_deflated(const struct zip_reading *r)
{
	const struct zip_member *m = r->member;
	uint64_t begin = 0;
	if (m->stored > 2 * m->size + SLACK)
		return err_set(-EIO, "%" PRIu64 " bytes cannot be the deflated form of %" PRIu64,
			m->stored, m->size);
	uint64_t most = r->archive->stat.size - m->header,
		 len = LOCAL_LEN + m->name + atomic_load(&r->zip->extra) + m->stored;
	len = min_u64(len, most);
	CLEAN(buf_free) struct buf in = {0};
	int result = zip_fetch(r, m->header, len, &in);
	if (result == 0 && len < LOCAL_LEN)
		result = err_set(-EIO, "the archive is damaged: a member goes beyond its end");
	if (result == 0)
		result = read_local(r, in.data, &begin);
	if (result)
		return result;
	uint64_t head = begin - m->header;
	if (head + m->stored > len)
		result = zip_fetch(r, m->header + len, head + m->stored - len, &in);
	return result ? result : inflate_whole(r, (struct span){in.data + head, (size_t)m->stored});
}

int
zip_read(const struct zip_reading *r)
{
	const struct zip_member *m = r->member;
	bool whole = r->off == 0 && r->len == m->size;
	if (m->encrypted)
		return err_set(-EIO, "it is encrypted in the archive");
	if (m->method != ZIP_STORED && m->method != ZIP_DEFLATED)
		return err_set(-EIO,
			"it is compressed in the archive by method %u; only stored and deflated "
			"members can be read",
			m->method);
	if (m->method == ZIP_STORED && m->stored != m->size)
		return err_set(-EIO, "the archive is damaged: a stored member has two sizes");
	if (!r->len)
		return 0;
	if (!m->stored)
		return err_set(-EIO, "the archive is damaged: a member without bytes has a size");
	if (m->method == ZIP_STORED)
		return whole ? read_stored(r) : read_stored_part(r);
	return whole ? read_deflated(r) : zip_stream_read(r);
}
