/* What the directory of an archive says, as libzip reads it. */
#include "backends/zip/libzip.h"
#include "backends/zip/write.h"

#include "base/check.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

enum {
	WINDOW = 64 << 20, /* bytes of a directory that are asked for at once */
	/* bytes that libzip may read, and how often each: archives with many ends make it read all
	   directories and headers */
	MOST = 1 << 30,
	TIMES = 4,
	REFUSED = -1, /* to libzip */
};

/* --- the archive, as libzip sees it --- */

struct zip_source {
	const struct zip_reading *in;
	struct span tail; /* its last bytes: all of most directories */
	uint64_t size;
	uint64_t before; /* bytes that stand before the archive: not shown */
	uint64_t at;     /* the next byte to be read, without those */
	struct buf window;
	uint64_t window_at;
	uint64_t left; /* bytes that may still be read */
	int failed;    /* what a request for bytes returned that was not 0 */
	bool asked;    /* libzip is only asked where a member is: no byte of that is read */
	uint64_t seen; /* where it would have read; NOWHERE: not yet */
	zip_error_t error;
};

static const uint64_t NOWHERE = UINT64_MAX;

static int
load_window(struct zip_source *s, uint64_t at, uint64_t end)
{
	s->window.len = 0;
	s->window_at = at;
	s->failed = zip_fetch(s->in, at, min_u64(end - at, WINDOW), &s->window);
	return s->failed;
}

/* The bytes at hand from there on; none: the request failed. */
static struct span
at_hand(struct zip_source *s, uint64_t at)
{
	uint64_t tail_at = s->size - s->tail.len;
	if (at >= tail_at)
		return (struct span){s->tail.data + (at - tail_at), (size_t)(s->size - at)};
	if ((at < s->window_at || at - s->window_at >= s->window.len) &&
		load_window(s, at, tail_at))
		return (struct span){0};
	return (struct span){
		s->window.data + (at - s->window_at), s->window.len - (at - s->window_at)};
}

static int64_t
source_read(struct zip_source *s, uint8_t *to, uint64_t len)
{
	uint64_t done = 0;
	len = min_u64(len, s->size - s->before - s->at);
	if (len > s->left) {
		zip_error_set(&s->error, ZIP_ER_INCONS, 0);
		return REFUSED;
	}
	for (uint64_t n; done < len; done += n) {
		struct span here = at_hand(s, s->before + s->at);
		if (!here.len) {
			zip_error_set(&s->error, ZIP_ER_READ, EIO);
			return REFUSED;
		}
		n = min_u64(here.len, len - done);
		memcpy(to + done, here.data, n);
		s->at += n;
	}
	s->left -= len;
	return (int64_t)len;
}

static int64_t
source_seek(struct zip_source *s, void *data, uint64_t len)
{
	int64_t to =
		zip_source_seek_compute_offset(s->at, s->size - s->before, data, len, &s->error);
	if (to < 0)
		return REFUSED;
	if (s->asked) {
		if (s->seen == NOWHERE)
			s->seen = (uint64_t)to;
		zip_error_set(&s->error, ZIP_ER_SEEK, EIO);
		return REFUSED;
	}
	s->at = (uint64_t)to;
	return 0;
}

static zip_int64_t
source_call(void *arg, void *data, zip_uint64_t len, zip_source_cmd_t command)
{
	struct zip_source *s = arg;
	switch (command) {
	case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_SEEKABLE;
	case ZIP_SOURCE_OPEN: s->at = 0; return 0;
	case ZIP_SOURCE_READ: return source_read(s, data, len);
	case ZIP_SOURCE_SEEK: return source_seek(s, data, len);
	case ZIP_SOURCE_TELL: return (int64_t)s->at;
	case ZIP_SOURCE_ERROR: return zip_error_to_data(&s->error, data, len);
	case ZIP_SOURCE_STAT:
		zip_stat_init(data);
		((zip_stat_t *)data)->valid = ZIP_STAT_SIZE;
		((zip_stat_t *)data)->size = s->size - s->before;
		return sizeof(zip_stat_t);
	case ZIP_SOURCE_CLOSE:
	case ZIP_SOURCE_FREE: return 0;
	default: zip_error_set(&s->error, ZIP_ER_OPNOTSUPP, 0); return REFUSED;
	}
}

/* --- its members --- */

/* Names in an archive that no key can be are never looked up, so they need not be kept: absolute
 * ones, "..", empty parts. Also not what macOS's archiver adds beside the files. */
static bool
usable(char *name, size_t len)
{
	static const char junk[] = "__MACOSX/";
	bool dir = len && name[len - 1] == '/';
	if (!len || !strncmp(name, junk, sizeof junk - 1))
		return false;
	if (dir)
		name[len - 1] = 0;
	bool good = zmap_check_key(name) == 0;
	if (dir)
		name[len - 1] = '/';
	return good;
}

bool
zip_is_key(char *name)
{
	while (!strncmp(name, "./", 2))
		name += 2;
	return usable(name, strlen(name));
}

static bool
is_ascii(const char *s)
{
	while (*s && !(*s & 0x80))
		s++;
	return !*s;
}

/* libzip does not tell where a member's header is, but it goes there first of all. */
static uint64_t
find_header(struct zip_source *s, zip_t *z, uint64_t i)
{
	s->seen = NOWHERE;
	zip_file_t *f = zip_fopen_index(z, i, ZIP_FL_ENCRYPTED);
	if (f) { /* it opens members without looking at them */
		char c;
		zip_fread(f, &c, 1);
		zip_fclose(f);
	}
	return s->seen;
}

/* A member without bytes has none that one could go to. */
static int
place_member(struct zip_source *s, zip_t *z, uint64_t i, struct zip_member *m)
{
	uint64_t at = m->stored ? find_header(s, z, i) : 0, end;
	if (at == NOWHERE || add_over(at, s->before, &m->header) ||
		add_over(m->header, m->stored, &end) || end > s->size)
		return err_set(-EIO, "member '%.200s' is said to lie beyond the archive's end",
			m->key ? m->key : "");
	return 0;
}

/* Its name is put at `to`; key NULL: to be skipped. */
static int
read_member(struct zip_source *s, zip_t *z, uint64_t i, char *to, struct zip_member *ret)
{
	zip_stat_t st;
	zip_stat_init(&st);
	if (zip_stat_index(z, i, ZIP_FL_ENC_RAW, &st) < 0)
		return err_set(-EIO, "its directory is damaged at member %" PRIu64, i);
	const char *from = st.name;
	size_t name = strlen(from);
	*ret = (struct zip_member){
		.key = to,
		.stored = st.comp_size,
		.size = st.size,
		.crc = st.crc,
		.method = st.comp_method,
		.name = (uint16_t)name,
		.renamed = !is_ascii(from),
		.encrypted = st.encryption_method != ZIP_EM_NONE,
		.order = (uint32_t)i,
	};
	for (; name > 2 && from[0] == '.' && from[1] == '/'; name -= 2)
		from += 2; /* "./a" means "a" */
	memcpy(to, from, name + 1);
	if (!usable(to, name))
		ret->key = NULL;
	return place_member(s, z, i, ret);
}

static int
read_members(struct zip_source *s, zip_t *z, struct zip_index *x)
{
	uint64_t count = (uint64_t)zip_get_num_entries(z, 0);
	size_t room = 1;
	for (uint64_t i = 0; i < count; i++) {
		const char *name = zip_get_name(z, i, ZIP_FL_ENC_RAW);
		room += name ? strlen(name) + 1 : 0;
	}
	x->member = calloc(count + 1, sizeof *x->member);
	char *to = x->names = malloc(room);
	if (!x->member || !x->names)
		return err_set(-ENOMEM, "no memory for a directory of %" PRIu64 " members", count);
	s->asked = true;
	for (uint64_t i = 0; i < count; i++) {
		struct zip_member *m = &x->member[x->count];
		int r = read_member(s, z, i, to, m);
		if (r < 0)
			return r;
		if (m->key) {
			to += strlen(to) + 1;
			x->count++;
		}
	}
	const struct archive *before = s->in->zip->writer ? s->in->zip->now : NULL;
	return zip_index_order(x, before ? before->index->prefix : NULL);
}

/* --- opening --- */

static int
failure(const struct zip_source *s, zip_error_t *e)
{
	if (s->failed)
		return s->failed;
	if (zip_error_code_zip(e) == ZIP_ER_MEMORY)
		return err_set(-ENOMEM, "no memory for the directory");
	return err_set(
		-EIO, "no zip archive, or one that was cut short: %s", zip_error_strerror(e));
}

static int
read_archive(
	const struct zip_reading *in, struct span tail, uint64_t before, struct zip_index **ret)
{
	CLEAN(zip_index_freep) struct zip_index *x = calloc(1, sizeof *x);
	if (!x)
		return err_set(-ENOMEM, "no memory for an archive");
	struct zip_source s = {.in = in,
		.tail = tail,
		.size = in->archive->stat.size,
		.before = before,
		.left = TIMES * min_u64(in->archive->stat.size, MOST / TIMES)};
	zip_error_t e;
	zip_error_init(&e);
	zip_error_init(&s.error);
	zip_source_t *source = zip_source_function_create(source_call, &s, &e);
	zip_t *z = source ? zip_open_from_source(source, ZIP_RDONLY, &e) : NULL;
	int r = z ? read_members(&s, z, x) : failure(&s, &e);
	if (z)
		zip_discard(z);
	else
		zip_source_free(source);
	malloc_trim(0); /* those were 300 bytes a member, in small pieces */
	zip_error_fini(&e);
	zip_error_fini(&s.error);
	buf_free(&s.window);
	if (r == 0)
		*ret = MOVE(x);
	return r;
}

static uint64_t
number(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;
	memcpy(&v, p, bytes);
	return le64toh(v);
}

/* Where something stands before an archive (a program that unpacks it), all that it says of places
 * is that much too small, which libzip does not expect. Its directory ends where its end record
 * begins, so that tells how much. 0 also if it cannot be told. */
static uint64_t
bytes_before(struct span tail, uint64_t size)
{
	enum { LEN = 22, BOTH64 = 20 + 56 };
	const uint8_t *data = tail.data, *end = data + tail.len;
	for (size_t at = tail.len < LEN ? 0 : tail.len - LEN + 1; at-- > 0;) {
		const uint8_t *p = data + at;
		if (memcmp(p, "PK\5\6", 4) || p + LEN + number(p + 20, 2) != end)
			continue;
		bool is64 = at >= BOTH64 && !memcmp(p - BOTH64, "PK\6\6", 4);
		p -= is64 ? BOTH64 : 0;
		uint64_t length = is64 ? number(p + 40, 8) : number(p + 12, 4),
			 begin = is64 ? number(p + 48, 8) : number(p + 16, 4),
			 place = size - (uint64_t)(end - p);
		return length > place || begin > place - length ? 0 : place - length - begin;
	}
	return 0;
}

int
zip_read_directory(const struct zip_reading *in, struct span tail, struct zip_index **ret)
{
	if (!tail.len)
		return err_set(-EIO, "no zip archive: it is empty");
	int r = libzip_load();
	if (r < 0)
		return r;
	uint64_t before = bytes_before(tail, in->archive->stat.size);
	r = before ? read_archive(in, tail, before, ret) : -EIO;
	return r == -EIO ? read_archive(in, tail, 0, ret) : r;
}
