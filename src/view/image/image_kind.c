/* netCDF files of a writable mount, as they are opened, read and written. */
#include "view/image/images.h"

#include "view/image/viewed.h"
#include "view/kind.h"
#include "view/netcdf/nc_plan.h"
#include "view/netcdf/netcdf.h"
#include "view/state.h"

#include "base/check.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* A file as it was opened once. */
struct kind_handle {
	struct open_image *image;
	struct viewed seen; /* in the image's turn */
	atomic_uint puts;   /* times that it was to change something … */
	atomic_uint stored; /* … that it was told were stored */
	struct file_known known;
};

static int
begin(struct mount *m)
{
	return images_new(&m->images);
}

static void
end(struct mount *m)
{
	m->images = images_free(m->images);
}

/* Those of netCDF-4 are only read. */
static bool
takes(const struct view_ops *v)
{
	const struct nc_want *want = netcdf_want(v);
	return want && want->format != NC_4;
}

static struct array_want
patience(const struct mount *m, struct cancel *cancel)
{
	return (struct array_want){
		.deadline = clock_now() + m->options.data.timeout, .cancel = cancel};
}

/* While it is written, the name leads to the file as it was opened, whatever the metadata say by
 * now. */
static int
lookup(struct mount *m, const char *path, struct entry *ret)
{
	enum { MODE = 0644 };
	struct open_image *o = images_find(m, path);
	if (!o)
		return ZMAP_ABSENT;
	int r = mount_entry(m, path, ENTRY_FILE, MODE, ret);
	if (r == 0) {
		ret->version = o->version;
		ret->size = image_size(o->image);
		ret->node = node_ref(o->node);
		ret->view = o->view;
		ret->mtime = atomic_load(&o->written);
		ret->by = &kind_image;
	}
	images_put(o, false);
	return r;
}

static struct open_image *
image_of(const struct file *f)
{
	return ((struct kind_handle *)f->own)->image;
}

/* What the handles of all images keep of what they have seen is a small part of the memory. */
static void
begin_seen(struct mount *m, struct viewed *ret)
{
	enum { MOST = 8 << 20, PART = 16 };
	const size_t most = data_memory(m->data) / PART;
	ret->all = images_viewed(m->images);
	ret->most = min_u64(MOST, most / 2);
	atomic_store(&ret->all->most, most);
}

static struct viewed *
seen_by(struct file *f)
{
	return file_writes(f) ? &((struct kind_handle *)f->own)->seen : NULL;
}

static int
open_image(struct file *f, const struct entry *e, int flags)
{
	struct open_image *o = images_find(f->mount, e->path);
	int r = file_writes(f) ? images_stuck(f->mount, e->path) : 0;
	if (!o && !file_writes(f))
		return ZMAP_ABSENT;
	struct kind_handle *h = r == 0 ? calloc(1, sizeof *h) : NULL;
	if (r == 0 && !h)
		r = err_set(-ENOMEM, "no memory for an open file");
	if (r == 0 && !o)
		r = images_begin(f->mount, e, &o);
	const bool counts = r == 0 && file_writes(f);
	unsigned opened;
	if (counts)
		images_add_writer(o);
	if (counts && flags & O_TRUNC) {
		const struct array_want how = patience(f->mount, NULL);
		r = image_truncate(o->image, 0, false, &how);
	}
	if (r < 0) {
		if (counts)
			images_leave(o, &opened);
		if (o)
			images_put(o, counts);
		free(h);
		f->flags = (f->flags & ~O_ACCMODE) | O_RDONLY;
		return r;
	}
	h->image = o;
	begin_seen(f->mount, &h->seen);
	if (counts)
		h->known.told = data_begin_writer(f->mount->data);
	f->own = h;
	f->size = image_size(o->image);
	f->direct = true;
	return 0;
}

static int
read_image(struct file *f, const struct array_want *want, struct reply *ret)
{
	struct open_image *o = image_of(f);
	size_t n = 0;
	int r = buf_reserve(&ret->own, want->len + 1);
	if (r == 0)
		r = image_read(o->image, want, seen_by(f), ret->own.data, &n);
	if (r < 0 || !n)
		return r;
	ret->own.len = ret->len = n;
	ret->part[0] = (struct iovec){ret->own.data, n};
	ret->parts = 1;
	return 0;
}

/* A program that does not look at this failure finds it again when it writes on, and when it opens
 * the file again. */
static bool
sticks(int code)
{
	return code < 0 && code != -EINTR && code != -ENOMEM;
}

/* What a call that changes the file came to is told, if a program made it. Returns that. */
static int
told(struct file *f, int code, uint64_t upto, unsigned flags)
{
	struct kind_handle *h = f->own;
	if (code < 0 && !(flags & FILE_MAPPED))
		image_know(h->image->image, code, upto, &h->known.told);
	return code;
}

/* A call that is to change the file begins. Up to which errors the handle knows of all if it fails
 * by one that sticks. */
static uint64_t
begin_put(struct file *f)
{
	atomic_fetch_add(&((struct kind_handle *)f->own)->puts, 1);
	return data_errors(f->mount->data);
}

static int
write_now(struct file *f, uint64_t off, struct span bytes, const struct array_want *how,
	unsigned flags)
{
	struct open_image *o = image_of(f);
	int r = images_usable(o);
	if (r < 0)
		return r;
	if (flags & FILE_APPEND)
		off = image_size(o->image);
	r = flags & FILE_MAPPED ? image_write_page(o->image, off, bytes, how)
				: image_write(o->image, off, bytes, seen_by(f), how);
	atomic_store(&o->written, clock_wall());
	return sticks(r) || (r < 0 && flags & FILE_MAPPED) ? images_fail(o, r) : r;
}

static int
write_image(struct file *f, uint64_t off, struct span bytes, const struct array_want *how,
	unsigned flags)
{
	if (!file_writes(f))
		return err_set(-EBADF, "'%s' was opened to be read", f->path);
	const uint64_t upto = begin_put(f);
	return told(f, write_now(f, off, bytes, how, flags), upto, flags);
}

static int
truncate_image(struct file *f, uint64_t size, enum file_resize by, struct cancel *cancel)
{
	(void)cancel;
	struct open_image *o = image_of(f);
	const struct array_want how = patience(f->mount, NULL);
	if (!file_writes(f))
		return err_set(-EBADF, "'%s' was opened to be read", f->path);
	const uint64_t upto = begin_put(f);
	int r = images_usable(o);
	if (r == 0)
		r = image_truncate(o->image, size, by == RESIZE_LONGER, &how);
	return told(f, r, upto, 0);
}

/* Other files of what it shows are told. */
static void
tell(struct open_image *o)
{
	images_tell(o);
	kinds_told(o->mount, SETTLE_FLUSH);
}

static int
settle_now(struct open_image *o, enum image_why why, const struct array_want *how)
{
	int r = image_settle(o->image, why, how);
	if (why != IMAGE_LOOK)
		tell(o);
	return r;
}

/* What went to variables before the file failed is stored all the same. Returns code. */
static int
store_rest(struct open_image *o, const struct array_want *how, int code)
{
	struct err why;
	err_save(code, &why);
	if (code != -ESTALE && !image_waits(o->image))
		settle_now(o, IMAGE_FLUSH, how);
	return err_restore(&why);
}

/* *ret_sticks: it failed, and cannot be written any more. */
static int
store(struct open_image *o, enum settle_why why, const struct array_want *how, bool *ret_sticks)
{
	const bool release = why == SETTLE_RELEASE;
	unsigned opened = 0;
	*ret_sticks = false;
	if (release && !images_leave(o, &opened))
		return 0;
	/* A file is released after close() has returned: by then a retry may have forgotten this
	 * error. */
	int r = images_usable(o);
	if (r < 0)
		return store_rest(o, how, r);
	r = settle_now(o, why == SETTLE_OTHER_READ ? IMAGE_LOOK : IMAGE_FLUSH, how);
	/* What another writer that has come since is about may have no meaning yet. */
	*ret_sticks = sticks(r) && (r != -EINVAL || (release && images_opened(o) == opened));
	return *ret_sticks ? images_fail(o, r) : r;
}

/* The handle hears what other programs, or a refresh, were told of what it has written. */
static int
settle(struct file *f, enum settle_why why, int64_t deadline, struct cancel *cancel)
{
	struct kind_handle *h = f->own;
	struct open_image *o = h->image;
	const struct array_want how = {.deadline = deadline, .cancel = cancel};
	if (!file_writes(f))
		return 0;
	const uint64_t upto = data_errors(f->mount->data);
	const unsigned puts = atomic_load(&h->puts);
	_Atomic(uint64_t) heard = file_known_before(&h->known, why);
	bool stuck;
	int r = store(o, why, &how, &stuck);
	if (r < 0)
		image_know(o->image, stuck ? 0 : r, upto, &heard);
	else if (why != SETTLE_OTHER_READ)
		r = image_hear(o->image, puts != atomic_load(&h->stored), &heard);
	file_known_now(&h->known, why, heard);
	if (r == 0)
		atomic_store(&h->stored, puts);
	return r;
}

static uint64_t
size_of(struct file *f)
{
	struct open_image *o = image_of(f);
	return image_size(o->image);
}

static void
close_image(struct file *f)
{
	struct kind_handle *h = f->own;
	if (!h)
		return;
	if (file_writes(f))
		data_end_writer(f->mount->data);
	image_leave(h->image->image, &h->seen);
	images_put(h->image, file_writes(f));
	free(h);
}

/* A reader comes to what an image may have changed. */
static void
other_read(struct file *f)
{
	CLEAN(clean_free) struct open_image **all = NULL;
	if (images_all(f->mount, &all) < 0)
		return;
	for (size_t i = 0; all[i]; i++) {
		const struct array_want how = patience(f->mount, NULL);
		if (image_waits(all[i]->image) && strcmp(all[i]->path, f->path) != 0 &&
			images_stuck(f->mount, all[i]->path) == 0)
			settle_now(all[i], IMAGE_LOOK, &how); /* its writer hears of what fails */
		images_put(all[i], false);
	}
}

/* Of no handle. */
static int
settle_for_all(struct open_image *o, const struct array_want *how)
{
	const uint64_t upto = data_errors(o->mount->data);
	const int r = settle_now(o, IMAGE_FLUSH, how);
	if (r == 0)
		return image_hear(o->image, false, NULL);
	image_know(o->image, r, upto, NULL);
	return r;
}

/* At the end all that fails is lost, and named with what failed before. */
static int
settle_all(struct mount *m, const char *dir, enum settle_why why, struct cancel *cancel,
	struct buf *said)
{
	CLEAN(clean_free) struct open_image **all = NULL;
	const struct array_want how = {.cancel = cancel};
	struct err why_not = {0};
	int r = images_all(m, &all);
	if (r < 0)
		return r;
	r = why == SETTLE_RELEASE ? 0 : images_stuck_below(m, dir);
	if (r < 0)
		err_save(r, &why_not);
	for (size_t i = 0; all[i]; i++) {
		struct open_image *o = all[i];
		r = path_is_below(o->path, dir) ? images_stuck(m, o->path) : 0;
		if (r == 0 && path_is_below(o->path, dir))
			r = settle_for_all(o, &how);
		if (r < 0 && why == SETTLE_RELEASE)
			images_stick(m, o->path, r);
		if (r < 0 && !why_not.code)
			err_save(err_add(r, "'%s'", o->path), &why_not);
		images_put(o, false);
	}
	return why_not.code ? err_restore(&why_not) : 0;
}

/* What failed is stored once more; what fails again is lost, though its writers have the file open
 * still. */
static int
retry(struct mount *m, struct buf *said)
{
	CLEAN(clean_free) struct open_image **all = NULL;
	bool lost = false;
	int r = images_all(m, &all);
	for (size_t i = 0; r == 0 && all[i]; i++) {
		const struct array_want how = patience(m, NULL);
		if (images_stuck(m, all[i]->path) < 0) {
			const uint64_t upto = data_errors(m->data);
			const int e = settle_now(all[i], IMAGE_FLUSH, &how);
			if (e == 0) {
				images_unstick(m, all[i]->path, NULL);
			} else { /* which it names */
				image_know(all[i]->image, e, upto, NULL);
				images_give_up(all[i]);
				lost = true;
			}
		}
		images_put(all[i], false);
	}
	images_unstick(m, NULL, said);
	if (lost)
		data_give_up_rows(m->data);
	/* Elements that it brought wait no longer, either. */
	return lost ? data_retry(m->data, said) : r;
}

static int
error(struct mount *m, const char *path, struct buf *ret)
{
	if (images_stuck(m, path) == 0)
		return ZMAP_ABSENT;
	return buf_add(ret, err_text(), strlen(err_text()));
}

static bool
unstored(struct mount *m)
{
	CLEAN(clean_free) struct open_image **all = NULL;
	bool any = false;
	if (images_all(m, &all) < 0)
		return true;
	for (size_t i = 0; all[i]; i++) {
		any |= image_waits(all[i]->image);
		images_put(all[i], false);
	}
	return any;
}

const struct file_kind kind_image = {
	.name = "image",
	.begin = begin,
	.end = end,
	.lookup = lookup,
	.takes = takes,
	.open = open_image,
	.read = read_image,
	.write = write_image,
	.truncate = truncate_image,
	.size = size_of,
	.settle = settle,
	.close = close_image,
	.other_read = other_read,
	.settle_all = settle_all,
	.retry = retry,
	.error = error,
	.unstored = unstored,
	.lost = images_lost,
};
