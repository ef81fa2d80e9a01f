/* What is written to a new name: it is the file's own, or goes to variables as it comes. */
#include "view/image/scratch.h"

#include "view/flats.h"
#include "view/kind.h"
#include "view/state.h"

#include "base/check.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

static const size_t MEMORY = 64 << 20; /* bytes of one file that lie in memory */
enum { PIECE = 1 << 20 };

bool
scratch_is_netcdf(const char *path)
{
	static const char suffix[] = ".nc", elsewhere[] = ".~tmp~/";
	const char *name = path_name(path);
	const size_t n = strlen(name), dir = (size_t)(name - path), k = sizeof elsewhere - 1;
	const bool moves = dir >= k && memcmp(name - k, elsewhere, k) == 0 &&
			   (dir == k || name[-(ptrdiff_t)k - 1] == '/');
	return n >= sizeof suffix && strcmp(name + n - strlen(suffix), suffix) == 0 && !moves;
}

/* What of the image is no longer so is the file's own again. */
static void
leave_image(struct scratch *s)
{
	if (!s->image || image_flows(s->image->image) || !image_waits(s->image->image))
		return;
	images_end(s->image);
	s->image = NULL;
	s->waits = true;
}

int
scratch_take_back(struct scratch *s, const struct array_want *how)
{
	int r = s->image ? image_flow_back(s->image->image, how) : 0;
	if (r == 0)
		leave_image(s);
	return r;
}

void
scratch_drop_image(struct scratch *s)
{
	images_end(s->image);
	s->image = NULL;
	spill_free(&s->bytes);
	s->size = 0;
}

/* Of a file that has become a flat one. */
static int
pass_on(struct mount *m, const struct scratch *s, uint64_t off, struct span bytes,
	const struct array_want *how)
{
	struct stale *stale = atomic_load(&m->stale);
	struct array_want w = *how;
	w.shown = NULL;
	int r = file_write(s->flat, off, bytes, &w, 0);
	if (r == 0 && stale)
		stale_push(stale, s->flat->path, STALE_PAGES);
	return r;
}

/* Others have made the flat file longer: what they wrote is the file's own as well, up to there. */
static int
follow(struct scratch *s, uint64_t to, const struct array_want *how)
{
	CLEAN(clean_free) uint8_t *bytes = NULL;
	struct array_want w = {.deadline = how->deadline, .cancel = how->cancel};
	int r = 0;
	if (!s->flat || to <= s->bytes.size)
		return 0;
	bytes = malloc(PIECE);
	if (!bytes)
		return err_set(-ENOMEM, "no memory for a file");
	while (r == 0 && s->bytes.size < to) {
		struct reply reply = {0};
		w.off = s->bytes.size;
		w.len = (size_t)min_u64(to - w.off, PIECE);
		r = file_read(s->flat, &w, &reply);
		const size_t n = reply.len;
		if (r == 0)
			reply_copy(&reply, bytes);
		reply_done(&reply);
		if (r < 0 || !n)
			break;
		r = spill_write(&s->bytes, w.off, (struct span){bytes, n}, MEMORY);
	}
	return r;
}

static int
put(struct mount *m, struct scratch *s, uint64_t off, struct span bytes,
	const struct array_want *how)
{
	const uint64_t before = s->bytes.size;
	int r = s->flat ? pass_on(m, s, off, bytes, how) : 0;
	if (r == 0)
		r = follow(s, off, how);
	if (r < 0)
		return r;
	r = s->image ? image_write(s->image->image, off, bytes, NULL, how)
		     : spill_write(&s->bytes, off, bytes, MEMORY);
	leave_image(s);
	if (r < 0 || s->image || s->waits || !image_would_flow(&s->bytes, MEMORY, before))
		return r;
	CLEAN(clean_free) char *path = scratches_target(m, s);
	s->waits = !path || !scratch_is_netcdf(path) || scratches_is_taken(m, s) ||
		   images_stream(m, path, &s->bytes, how, &s->image) != 0;
	return 0;
}

/* A file that was written wholly, or not at all, and that nothing more is written to. */
static int
end_flat(struct file *f, int code, struct cancel *cancel)
{
	int r = f ? file_settle(f, SETTLE_RELEASE, 0, cancel) : 0;
	file_close(f);
	return code < 0 ? code : r;
}

int
scratch_settle_flat(struct scratch *s, enum settle_why why, const struct array_want *how)
{
	struct file *f = s->flat;
	if (why != SETTLE_RELEASE)
		return f ? file_settle(f, why, how->deadline, how->cancel) : 0;
	s->flat = NULL;
	return end_flat(f, 0, how->cancel);
}

/* A flat file that cannot have so many bytes gets none of them. What it shows does not count: other
 * handles may have truncated it. */
static int
check_size(const struct scratch *s, const struct file *f)
{
	const uint64_t bytes = s->bytes.size;
	struct flat *w = flats_find(f->mount, f->path);
	struct flat_state st;
	if (!w)
		return err_set(-ESTALE, "'%s' has changed since it was looked up", f->path);
	flat_now(w, &st);
	const uint64_t size = st.size;
	const bool grows = w->grows;
	flat_state_done(&st);
	flat_put(w);
	if (!bytes || bytes == size || (bytes > size && grows))
		return 0;
	return err_set(bytes < size ? -EINVAL : -EFBIG,
		"it has %" PRIu64 " bytes, '%s' %" PRIu64 ", and no dimension %s", bytes, f->path,
		size, bytes < size ? "becomes shorter" : "that is not unlimited becomes longer");
}

int
scratch_put_flat(
	struct mount *m, struct scratch *s, const struct entry *to, const struct array_want *how)
{
	struct file *f = NULL;
	CLEAN(clean_free) uint8_t *bytes = malloc(PIECE);
	int r = bytes ? file_open_for(m, to, O_WRONLY, &f)
		      : err_set(-ENOMEM, "no memory for a file");
	if (r == 0)
		r = check_size(s, f);
	if (r == 0)
		r = file_truncate(f, 0, RESIZE_HANDLE, NULL);
	uint64_t size = s->bytes.size, n;
	for (uint64_t at = 0; at < size && r == 0; at += n) {
		n = min_u64(size - at, PIECE);
		r = spill_read(&s->bytes, at, (size_t)n, bytes);
		if (r == 0)
			r = file_write(f, at, (struct span){bytes, (size_t)n}, how, 0);
	}
	if (r == 0)
		r = file_settle(f, SETTLE_RENAME, 0, how->cancel);
	if (r == 0 && atomic_load(&s->writers)) {
		s->flat = f;
		s->changed = false;
		return 0;
	}
	return end_flat(f, r, how->cancel);
}

int
scratch_content(struct scratch *s, const struct array_want *want, uint8_t *to, size_t *ret_n)
{
	const uint64_t size = s->bytes.size;
	if (s->image)
		return image_read(s->image->image, want, NULL, to, ret_n);
	*ret_n = want->off < size ? (size_t)min_u64(want->len, size - want->off) : 0;
	return *ret_n ? spill_read(&s->bytes, want->off, *ret_n, to) : 0;
}

/* Of a page that a program has mapped, what differs from what it showed. */
static int
put_page(struct mount *m, struct scratch *s, uint64_t off, struct span bytes,
	const struct array_want *how)
{
	CLEAN(clean_free) uint8_t *was = calloc(1, bytes.len + 1);
	struct array_want w = *how;
	size_t n;
	w.off = off;
	w.len = bytes.len;
	int r = was ? 0 : err_set(-ENOMEM, "no memory for %zu bytes", bytes.len);
	if (r == 0 && how->shown)
		memcpy(was, how->shown, bytes.len);
	else if (r == 0)
		r = scratch_content(s, &w, was, &n);
	for (size_t at = 0, to; r == 0 && span_differs(bytes, was, &at, &to); at = to)
		r = put(m, s, off + at, (struct span){bytes.data + at, to - at}, how);
	return r;
}

/* A program that does not look at this failure finds it again, for the file is not what it wrote. A
 * page of a mapping is gone whatever it was. */
static int
stick(struct scratch *s, unsigned flags, int code)
{
	if (code < 0 && (flags & FILE_MAPPED || (code != -EINTR && code != -ENOMEM)))
		err_save(code, &s->refused);
	return code;
}

int
scratch_refused(const struct scratch *s)
{
	return s->refused.code ? err_restore(&s->refused) : 0;
}

int
scratch_take(struct scratch *s, int64_t deadline)
{
	int r = turn_take(&s->turn, deadline);
	if (r < 0)
		return r;
	r = scratch_refused(s);
	return r < 0 ? turn_give(&s->turn, r) : 0;
}

/* Where data that are appended go. */
static int
find_end(const struct scratch *s, uint64_t *ret)
{
	struct flat *w = s->flat ? flats_find(s->flat->mount, s->flat->path) : NULL;
	*ret = s->size;
	if (!w)
		return 0;
	int r = flat_find_end(w, ret);
	flat_put(w);
	return r;
}

int
scratch_write(struct mount *m, struct scratch *s, uint64_t off, struct span bytes,
	const struct array_want *how, unsigned flags)
{
	int r = scratch_take(s, how->deadline);
	if (r < 0)
		return r;
	if (flags & FILE_APPEND)
		r = find_end(s, &off);
	if (r == 0)
		r = flags & FILE_MAPPED ? put_page(m, s, off, bytes, how)
					: put(m, s, off, bytes, how);
	s->size = s->image ? image_size(s->image->image) : s->bytes.size;
	s->mtime = clock_wall();
	s->changed = !s->flat;
	return turn_give(&s->turn, stick(s, flags, r));
}

/* In turn. */
static int
resize(struct scratch *s, uint64_t size, bool longer)
{
	const struct array_want how = {.cancel = NULL};
	if (!size)
		s->refused = (struct err){0};
	int r = scratch_refused(s);
	if (r < 0 || (longer && size <= s->size))
		return r;
	if (s->flat)
		r = file_truncate(s->flat, size, longer ? RESIZE_LONGER : RESIZE_HANDLE, NULL);
	if (r < 0)
		return stick(s, 0, r);
	if (s->image && !size)
		scratch_drop_image(s);
	if (!size)
		s->waits = false;
	r = follow(s, size, &how);
	if (r == 0 && s->image)
		r = image_truncate(s->image->image, size, longer, &how);
	leave_image(s);
	if (r == 0 && !s->image)
		r = spill_truncate(&s->bytes, size, MEMORY);
	s->size = s->image ? image_size(s->image->image) : s->bytes.size;
	s->changed = !s->flat;
	return stick(s, 0, r);
}

int
scratch_resize(struct scratch *s, uint64_t size, bool longer)
{
	int r = turn_take(&s->turn, 0);
	return r < 0 ? r : turn_give(&s->turn, resize(s, size, longer));
}

/* Has it become a flat file that it does not go on to? Then no name leads to what is written. */
static bool
is_closed(struct mount *m, struct scratch *s)
{
	CLEAN(clean_free) char *path = NULL;
	if (s->flat || !scratches_is_taken(m, s))
		return false;
	path = scratches_target(m, s);
	return !path || !scratch_is_netcdf(path);
}

/* A handle that is not to be, after all: the last one may have been released meanwhile. Returns
 * code. */
static int
drop_writer(struct scratch *s, int code)
{
	const struct array_want how = {.cancel = NULL};
	struct err why;
	if (atomic_fetch_sub(&s->writers, 1) != 1)
		return code;
	err_save(code, &why);
	if (s->image && image_flows(s->image->image))
		scratch_drop_image(s);
	scratch_settle_flat(s, SETTLE_RELEASE, &how);
	return err_restore(&why);
}

int
scratch_add_writer(struct mount *m, struct scratch *s, const char *path, bool truncates)
{
	atomic_fetch_add(&s->writers, 1); /* a rename that has its turn sees it */
	int r = turn_take(&s->turn, 0);
	if (r < 0)
		return r;
	if (is_closed(m, s))
		r = err_set(-ESTALE, "'%s' has changed since it was looked up", path);
	else
		r = truncates ? resize(s, 0, false) : scratch_refused(s);
	return turn_give(&s->turn, r < 0 ? drop_writer(s, r) : r);
}
