/* A new archive from an old one: members that stay are copied as they are, headers and all, in the
 * order in which they lie; those that were put come behind them, stored; then the directory, of
 * which entries that stay keep all they say but their place. What stands before the archive (a
 * program that unpacks it) stays there. */
#include "backends/zip/old.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DESCRIBED = 8,  /* flag: sizes and checksum come behind the bytes */
	UTF8 = 1 << 11, /* flag: so is the name */
	VERSION = 20,
	VERSION64 = 45,
	UNIX = 3 << 8,
	OUT = 256 << 10,
};

/* --- the file that is written --- */

struct out {
	int fd;
	uint64_t at;
	struct buf held;
};

static int
flush(struct out *o)
{
	for (size_t done = 0; done < o->held.len;) {
		ssize_t n = write(o->fd, o->held.data + done, o->held.len - done);
		if (n < 0 && errno != EINTR)
			return err_sys(errno, "write the new archive");
		done += n > 0 ? (size_t)n : 0;
	}
	o->held.len = 0;
	return 0;
}

static int
add(struct out *o, const void *data, size_t len)
{
	int r = buf_add(&o->held, data, len);
	o->at += len;
	return r == 0 && o->held.len >= OUT ? flush(o) : r;
}

/* By the kernel, where it can. */
static int
copy(struct out *o, int from, uint64_t off, uint64_t len)
{
	int r = flush(o);
	o->at += len;
	loff_t at = (loff_t)off;
	while (r == 0 && len) {
		ssize_t n = copy_file_range(from, &at, o->fd, NULL, min_u64(len, OUT << 8), 0);
		if (n <= 0 && (n == 0 || errno != EINTR))
			break;
		len -= n > 0 ? (uint64_t)n : 0;
	}
	if (r == 0 && len)
		r = buf_reserve(&o->held, OUT);
	while (r == 0 && len) {
		ssize_t n = pread(from, o->held.data, min_u64(len, OUT), at);
		if (n == 0)
			return err_set(-EIO, "the archive became shorter");
		if (n < 0 && errno != EINTR)
			return err_sys(errno, "read the archive");
		o->held.len = n > 0 ? (size_t)n : 0;
		at += n > 0 ? n : 0;
		len -= o->held.len;
		r = flush(o);
	}
	return r;
}

/* --- the new one --- */

/* How long what describes a member behind its bytes is there; 0: it is not as it should be. */
static size_t
described(const uint8_t d[24], const uint8_t *entry, const struct zip_old_part *p)
{
	for (size_t sig = 0; sig <= 4; sig += 4)
		for (unsigned n = 4; n <= 8; n += 4)
			if ((!sig || !memcmp(d, "PK\7\10", 4)) &&
				zip_get(d + sig, 4) == zip_get(entry + 16, 4) &&
				zip_get(d + sig + 4, n) == p->stored &&
				zip_get(d + sig + 4 + n, n) == p->size)
				return sig + 4 + 2 * n;
	return 0;
}

static int
add_description(struct out *out, const uint8_t *entry, const struct zip_old_part *p)
{
	uint8_t d[24] = "PK\7\10";
	unsigned n = p->stored >= UINT32_MAX || p->size >= UINT32_MAX ? 8 : 4;
	memcpy(d + 4, entry + 16, 4);
	zip_set(d + 8, p->stored, n);
	zip_set(d + 8 + n, p->size, n);
	return add(out, d, 8 + 2 * n);
}

/* Bytes of the old archive that are to be copied together. */
struct member_run {
	uint64_t from, end;
	uint64_t last; /* where the last member ended */
};

static int
end_run(struct zip_old *o, struct out *out, struct member_run *run)
{
	int r = run->end > run->from ? copy(out, o->in->from, run->from, run->end - run->from) : 0;
	*run = (struct member_run){.last = run->last};
	return r;
}

/* Takes a member into the run, or begins another with it. */
static int
copy_part(struct zip_old *o, struct out *out, struct zip_old_part *p, struct member_run *run)
{
	uint8_t head[ZIP_LOCAL_LEN], tail[24] = {0};
	const uint8_t *entry = o->dir.data + p->entry;
	uint64_t at = o->before + p->header, end;
	int r = at < p->header || at > o->size || o->size - at < ZIP_LOCAL_LEN
			? zip_old_odd("a member lies beyond its end")
			: zip_old_read_at(o, at, head, ZIP_LOCAL_LEN);
	if (r == 0 && memcmp(head, "PK\3\4", 4))
		r = zip_old_odd("a member is not where it should be");
	if (r < 0)
		return r;
	if (add_over(at + ZIP_LOCAL_LEN + zip_get(head + 26, 2) + zip_get(head + 28, 2), p->stored,
		    &end) ||
		end > o->size)
		return zip_old_odd("a member lies beyond its end");
	if (at < run->last)
		return zip_old_odd("its members overlap"); /* it could grow without end */
	run->last = end;
	bool more = zip_get(head + 6, 2) & DESCRIBED;
	size_t known = 0;
	if (more) {
		r = zip_old_read_at(o, end, tail, min_u64(sizeof tail, o->size - end));
		known = described(tail, entry, p);
	}
	if (r == 0 && at != run->end) {
		r = end_run(o, out, run);
		run->from = at;
	}
	p->now = out->at + (at - run->from) - o->before;
	run->end = end + known;
	if (r == 0 && more && !known) {
		r = end_run(o, out, run);
		r = r == 0 ? add_description(out, entry, p) : r;
	}
	return r;
}

static int
copy_parts(struct zip_old *o, struct out *out)
{
	struct member_run run = {0};
	int r = copy(out, o->in->from, 0, o->before);
	for (size_t i = 0; i < o->parts && r == 0; i++)
		r = copy_part(o, out, o->place[i], &run);
	return r == 0 ? end_run(o, out, &run) : r;
}

/* What local header and directory have in common, from "version needed" on: 26 bytes. */
static void
fields(uint8_t *to, const struct zip_pending *p, size_t name, const struct tm *t)
{
	bool big = p->len >= UINT32_MAX, ascii = true;
	for (const char *c = p->key; *c; c++)
		ascii = ascii && !(*c & 0x80);
	zip_set(to, big ? VERSION64 : VERSION, 2);
	zip_set(to + 2, ascii ? 0 : UTF8, 2);
	zip_set(to + 4, ZIP_STORED, 2);
	zip_set(to + 6, (uint64_t)(t->tm_hour << 11 | t->tm_min << 5 | t->tm_sec / 2), 2);
	zip_set(to + 8, (uint64_t)((t->tm_year - 80) << 9 | (t->tm_mon + 1) << 5 | t->tm_mday), 2);
	zip_set(to + 10, p->crc, 4);
	zip_set(to + 14, big ? UINT32_MAX : p->len, 4);
	zip_set(to + 18, big ? UINT32_MAX : p->len, 4);
	zip_set(to + 22, name, 2);
	zip_set(to + 24, 0, 2);
}

static int
add_name(struct out *out, const struct zip_rewrite *in, const struct zip_pending *p)
{
	int r = add(out, in->prefix, strlen(in->prefix));
	return r == 0 ? add(out, p->key, strlen(p->key)) : r;
}

static size_t
name_len(const struct zip_rewrite *in, const struct zip_pending *p)
{
	return strlen(in->prefix) + strlen(p->key);
}

static int
add_new(struct out *out, const struct zip_rewrite *in, const struct zip_pending *p,
	const struct tm *t)
{
	uint8_t head[ZIP_LOCAL_LEN] = "PK\3\4", extra[20] = {1, 0, 16};
	size_t more = p->len >= UINT32_MAX ? sizeof extra : 0, name = name_len(in, p);
	if (name > UINT16_MAX)
		return err_set(-ENAMETOOLONG, "no name in an archive is so long");
	fields(head + 4, p, name, t);
	zip_set(head + 28, more, 2);
	zip_set(extra + 4, p->len, 8);
	zip_set(extra + 12, p->len, 8);
	int r = add(out, head, sizeof head);
	if (r == 0)
		r = add_name(out, in, p);
	if (r == 0)
		r = add(out, extra, more);
	return r == 0 ? copy(out, p->spill->fd, p->off, p->len) : r;
}

static int
add_new_entry(struct out *out, const struct zip_rewrite *in, const struct zip_pending *p,
	const struct tm *t, uint64_t header)
{
	uint8_t e[ZIP_ENTRY_LEN] = "PK\1\2", extra[28] = {1, 0};
	size_t more = 4;
	fields(e + 6, p, name_len(in, p), t);
	zip_set(e + 4, UNIX | VERSION64, 2);
	if (p->len >= UINT32_MAX) {
		zip_set(extra + more, p->len, 8);
		zip_set(extra + more + 8, p->len, 8);
		more += 16;
	}
	if (header >= UINT32_MAX) {
		zip_set(extra + more, header, 8);
		more += 8;
	}
	zip_set(extra + 2, more - 4, 2);
	more = more > 4 ? more : 0;
	zip_set(e + 30, more, 2);
	zip_set(e + 38, (uint64_t)(S_IFREG | 0644) << 16, 4);
	zip_set(e + 42, header >= UINT32_MAX ? UINT32_MAX : header, 4);
	int r = add(out, e, sizeof e);
	if (r == 0)
		r = add_name(out, in, p);
	return r == 0 ? add(out, extra, more) : r;
}

/* An entry that stays, with the place that its header has now. */
static int
add_old_entry(struct zip_old *o, struct out *out, const struct zip_old_part *p)
{
	uint8_t *e = o->dir.data + p->entry, *wide = zip_old_header64(e), extra[12] = {1, 0, 8};
	size_t name = zip_get(e + 28, 2), more = zip_get(e + 30, 2), rest = zip_get(e + 32, 2),
	       len = 0;
	if (wide) {
		zip_set(wide, p->now, 8);
	} else if (p->now < UINT32_MAX) {
		zip_set(e + 42, p->now, 4);
	} else if (zip_old_numbers64(e, &len) || more + sizeof extra > UINT16_MAX) {
		return zip_old_odd("it grows over 4 GiB, and its directory has no room for that");
	} else {
		zip_set(e + 42, UINT32_MAX, 4);
		zip_set(e + 30, more + sizeof extra, 2);
		zip_set(extra + 4, p->now, 8);
		int r = add(out, e, ZIP_ENTRY_LEN + name);
		if (r == 0)
			r = add(out, extra, sizeof extra);
		return r == 0 ? add(out, e + ZIP_ENTRY_LEN + name, more + rest) : r;
	}
	return add(out, e, ZIP_ENTRY_LEN + name + more + rest);
}

static int
add_end(struct zip_old *o, struct out *out, uint64_t count, uint64_t begin)
{
	uint64_t len = out->at - o->before - begin;
	uint8_t end[ZIP_END_LEN] = "PK\5\6", end64[ZIP_END64_LEN] = "PK\6\6",
		locator[ZIP_LOCATOR_LEN] = "PK\6\7";
	int r = 0;
	if (count >= UINT16_MAX || len >= UINT32_MAX || begin >= UINT32_MAX) {
		zip_set(end64 + 4, ZIP_END64_LEN - 12, 8);
		zip_set(end64 + 12, UNIX | VERSION64, 2);
		zip_set(end64 + 14, VERSION64, 2);
		zip_set(end64 + 24, count, 8);
		zip_set(end64 + 32, count, 8);
		zip_set(end64 + 40, len, 8);
		zip_set(end64 + 48, begin, 8);
		zip_set(locator + 8, out->at - o->before, 8);
		zip_set(locator + 16, 1, 4);
		r = add(out, end64, sizeof end64);
		if (r == 0)
			r = add(out, locator, sizeof locator);
	}
	zip_set(end + 8, min_u64(count, UINT16_MAX), 2);
	zip_set(end + 10, min_u64(count, UINT16_MAX), 2);
	zip_set(end + 12, min_u64(len, UINT32_MAX), 4);
	zip_set(end + 16, min_u64(begin, UINT32_MAX), 4);
	zip_set(end + 20, o->comment.len, 2);
	if (r == 0)
		r = add(out, end, sizeof end);
	return r == 0 ? add(out, o->comment.data, o->comment.len) : r;
}

static int
write_all(struct zip_old *o, struct out *out, uint64_t *place)
{
	const struct zip_rewrite *in = o->in;
	time_t now = time(NULL);
	struct tm t = {0};
	localtime_r(&now, &t);
	t.tm_year = t.tm_year < 80 ? 80 : t.tm_year;
	uint64_t count = o->parts;
	int r = copy_parts(o, out);
	for (size_t i = 0; i < in->layer->count && r == 0; i++) {
		place[i] = out->at - o->before;
		if (!in->layer->pending[i]->gone)
			r = add_new(out, in, in->layer->pending[i], &t);
	}
	uint64_t begin = out->at - o->before;
	for (size_t i = 0; i < o->parts && r == 0; i++)
		r = add_old_entry(o, out, &o->part[i]);
	for (size_t i = 0; i < in->layer->count && r == 0; i++)
		if (!in->layer->pending[i]->gone) {
			count++;
			r = add_new_entry(out, in, in->layer->pending[i], &t, place[i]);
		}
	if (r == 0)
		r = add_end(o, out, count, begin);
	return r == 0 ? flush(out) : r;
}

int
zip_rewrite(const struct zip_rewrite *in)
{
	CLEAN(zip_old_done) struct zip_old o = {0};
	int r = zip_old_read(&o, in);
	if (r < 0)
		return r;
	uint64_t *place = calloc(in->layer->count + 1, sizeof *place);
	struct out out = {.fd = in->to};
	r = place ? write_all(&o, &out, place) : err_set(-ENOMEM, "no memory for a directory");
	buf_free(&out.held);
	free(place);
	return r;
}
