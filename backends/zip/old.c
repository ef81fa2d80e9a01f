#include "backends/zip/old.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMENT_MAX = 65535, DIR_MAX = 1 << 30 /* bytes of a directory */ };

void
zip_old_done(struct zip_old *o)
{
	buf_free(&o->dir);
	buf_free(&o->comment);
	free(o->part);
	free(o->place);
}

int
zip_old_odd(const char *what)
{
	return err_set(-EIO, "the archive cannot be written: %s", what);
}

int
zip_old_read_at(const struct zip_old *o, uint64_t off, void *to, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n =
			pread(o->in->from, (uint8_t *)to + done, len - done, (off_t)(off + done));
		if (n == 0)
			return zip_old_odd("it ends too early");
		if (n < 0 && errno != EINTR)
			return err_sys(errno, "read the archive");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int
read_buf(const struct zip_old *o, uint64_t off, uint64_t len, struct buf *ret)
{
	int r = off > o->size || len > o->size - off || len > DIR_MAX
			? zip_old_odd("its directory is not where it should be")
			: buf_reserve(ret, len + 1);
	if (r == 0)
		r = zip_old_read_at(o, off, ret->data, len);
	if (r == 0)
		ret->len = len;
	return r;
}

/* The directory by the end record at `at` of the tail, which begins at `from` of the archive. */
static int
read_dir(struct zip_old *o, const struct buf *tail, uint64_t from, size_t at)
{
	const uint8_t *p = tail->data + at;
	uint64_t end = from + at, len = zip_get(p + 12, 4), begin = zip_get(p + 16, 4);
	if (zip_get(p + 4, 4))
		return zip_old_odd("it is in several pieces");
	if (at >= ZIP_LOCATOR_LEN + ZIP_END64_LEN && !memcmp(p - ZIP_LOCATOR_LEN, "PK\6\7", 4)) {
		const uint8_t *e = p - ZIP_LOCATOR_LEN - ZIP_END64_LEN;
		if (memcmp(e, "PK\6\6", 4))
			return zip_old_odd("its end is of a newer form");
		len = zip_get(e + 40, 8);
		begin = zip_get(e + 48, 8);
		end -= ZIP_LOCATOR_LEN + ZIP_END64_LEN;
	}
	if (len > end || begin > end - len)
		return zip_old_odd("its directory is not where it should be");
	o->before = end - len - begin;
	int r = buf_add(&o->comment, p + ZIP_END_LEN, tail->len - at - ZIP_END_LEN);
	return r == 0 ? read_buf(o, end - len, len, &o->dir) : r;
}

static int
find_dir(struct zip_old *o)
{
	CLEAN(buf_free) struct buf tail = {0};
	uint64_t n = min_u64(o->size, COMMENT_MAX + ZIP_END_LEN + ZIP_LOCATOR_LEN + ZIP_END64_LEN);
	int r = read_buf(o, o->size - n, n, &tail);
	if (r < 0)
		return r;
	for (size_t at = tail.len < ZIP_END_LEN ? 0 : tail.len - ZIP_END_LEN + 1; at-- > 0;)
		if (!memcmp(tail.data + at, "PK\5\6", 4) &&
			at + ZIP_END_LEN + zip_get(tail.data + at + 20, 2) == tail.len)
			return read_dir(o, &tail, o->size - n, at);
	return zip_old_odd("its end is not found");
}

uint8_t *
zip_old_numbers64(uint8_t *entry, size_t *ret_len)
{
	uint8_t *p = entry + ZIP_ENTRY_LEN + zip_get(entry + 28, 2),
		*end = p + zip_get(entry + 30, 2);
	for (size_t n; end - p >= 4; p += 4 + n) {
		n = zip_get(p + 2, 2);
		if (n > (size_t)(end - p) - 4)
			return NULL;
		if (zip_get(p, 2) == 1) {
			*ret_len = n;
			return p + 4;
		}
	}
	return NULL;
}

uint8_t *
zip_old_header64(uint8_t *entry)
{
	size_t len = 0;
	size_t at = (zip_get(entry + 24, 4) == UINT32_MAX ? 8u : 0) +
		    (zip_get(entry + 20, 4) == UINT32_MAX ? 8u : 0);
	uint8_t *p = zip_get(entry + 42, 4) == UINT32_MAX ? zip_old_numbers64(entry, &len) : NULL;
	return p && at + 8 <= len ? p + at : NULL;
}

static void
read_entry(uint8_t *entry, struct zip_old_part *ret)
{
	size_t len = 0;
	uint8_t *p = zip_old_numbers64(entry, &len), *header = zip_old_header64(entry);
	ret->size = zip_get(entry + 24, 4);
	ret->stored = zip_get(entry + 20, 4);
	if (ret->size == UINT32_MAX && p && len >= 8) {
		ret->size = zip_get(p, 8);
		p += 8;
		len -= 8;
	}
	if (ret->stored == UINT32_MAX && p && len >= 8)
		ret->stored = zip_get(p, 8);
	ret->header = header ? zip_get(header, 8) : zip_get(entry + 42, 4);
}

static int
by_header(const void *x, const void *y)
{
	const struct zip_old_part *const *a = x, *const *b = y;
	return (*a)->header < (*b)->header ? -1 : (*a)->header > (*b)->header;
}

/* Which entries stay is the caller's to say, by their number. */
static int
choose(struct zip_old *o)
{
	size_t count = 0;
	o->part = calloc(o->dir.len / ZIP_ENTRY_LEN + 1, sizeof *o->part);
	o->place = calloc(o->dir.len / ZIP_ENTRY_LEN + 1, sizeof *o->place);
	if (!o->part || !o->place)
		return err_set(-ENOMEM, "no memory for a directory");
	for (size_t at = 0, len; at < o->dir.len; at += len, count++) {
		uint8_t *e = o->dir.data + at;
		size_t left = o->dir.len - at;
		len = left < ZIP_ENTRY_LEN ? ZIP_ENTRY_LEN
					   : ZIP_ENTRY_LEN + zip_get(e + 28, 2) +
						     zip_get(e + 30, 2) + zip_get(e + 32, 2);
		if (len > left || memcmp(e, "PK\1\2", 4))
			return zip_old_odd("its directory is damaged");
		if (!o->in->stays(
			    o->in->arg, count, (const char *)e + ZIP_ENTRY_LEN, zip_get(e + 28, 2)))
			continue;
		struct zip_old_part *p = &o->part[o->parts];
		read_entry(e, p);
		p->entry = (uint32_t)at;
		o->place[o->parts++] = p;
	}
	qsort(o->place, o->parts, sizeof *o->place, by_header);
	return 0;
}

int
zip_old_read(struct zip_old *o, const struct zip_rewrite *in)
{
	struct stat s;
	*o = (struct zip_old){.in = in};
	if (fstat(in->from, &s) != 0)
		return err_sys(errno, "look at the archive");
	o->size = (uint64_t)s.st_size;
	int r = find_dir(o);
	return r == 0 ? choose(o) : r;
}
