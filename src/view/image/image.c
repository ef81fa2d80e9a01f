#include "view/image/image_impl.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>

int
image_new(const struct image_start *s, struct image **ret)
{
	struct image *im = calloc(1, sizeof *im);
	if (!im)
		return err_set(-ENOMEM, "no memory for an image");
	turn_init(&im->turn);
	im->start = *s;
	im->form = s->form;
	im->size = im->cut = s->form ? s->form->size : 0;
	im->own.fd = im->tail.fd = -1;
	im->end = im->size;
	im->instead = s->instead;
	if (s->instead) {
		im->size = s->instead->size;
		im->cut = 0;
		im->waiting = true;
	}
	*ret = im;
	return 0;
}

struct image *
image_free(struct image *im)
{
	if (!im)
		return NULL;
	if (im->flow)
		image_flow_drop(im);
	image_form_free(im->form, &im->start.ops->store, im->start.arg);
	held_free(&im->over);
	spill_free(&im->own);
	spill_free(&im->tail);
	turn_done(&im->turn);
	free(im);
	return NULL;
}

/* What is looked at from outside is read without a turn. */
uint64_t
image_size(struct image *im)
{
	return atomic_load(&im->size);
}

bool
image_waits(struct image *im)
{
	return atomic_load(&im->waiting);
}

bool
image_is_blank(struct image *im)
{
	return atomic_load(&im->waiting) && !atomic_load(&im->size);
}

static struct viewed **
find_seen(struct image *im, const struct viewed *s)
{
	struct viewed **at = &im->seen;
	while (*at && *at != s)
		at = &(*at)->next;
	return at;
}

/* Bytes of a file that is written anew, or goes to new variables, are no others' too. */
static void
note(struct image *im, struct viewed *seen, uint64_t off, struct span bytes)
{
	if (!seen || im->instead || im->flow)
		return;
	struct viewed **at = find_seen(im, seen);
	if (!*at)
		*at = seen;
	viewed_of(seen, im->cuts);
	viewed_note(seen, off, bytes);
}

void
image_leave(struct image *im, struct viewed *seen)
{
	turn_take(&im->turn, 0);
	struct viewed **at = find_seen(im, seen);
	if (*at)
		*at = seen->next;
	turn_give(&im->turn, 0);
	viewed_free(seen);
}

int
image_read(struct image *im, const struct array_want *want, struct viewed *seen, uint8_t *to,
	size_t *ret_len)
{
	int r = turn_take(&im->turn, want->deadline);
	if (r < 0)
		return r;
	struct array_want w = *want;
	w.len = want->off < im->size ? (size_t)min_u64(want->len, im->size - want->off) : 0;
	r = image_content(im, &w, to);
	*ret_len = w.len;
	if (r == 0)
		note(im, seen, w.off, (struct span){to, w.len});
	return turn_give(&im->turn, r);
}

/* A file that replaces all. */
static int
hold_instead(struct image *im, uint64_t off, struct span bytes, const struct array_want *how)
{
	const uint64_t before = im->size;
	int r = spill_write(im->instead, off, bytes, im->start.most);
	im->size = im->instead->size;
	im->waiting = true;
	if (r == 0 && !im->flowed && image_would_flow(im->instead, im->start.most, before))
		image_flow_begin(im, how); /* or it waits, as others do */
	return r;
}

/* Where the handle has seen nothing the byte is another one. */
static int
put(struct image *im, uint64_t off, struct span bytes, const struct viewed *seen)
{
	CLEAN(clean_free) uint8_t *was = seen ? malloc(bytes.len) : NULL;
	if (seen && !was)
		return err_set(-ENOMEM, "no memory for what was written");
	if (was)
		viewed_show(seen, off, bytes, was);
	return held_put(&im->over, off, bytes, was);
}

/* More waits. */
static int
hold(struct image *im, uint64_t off, struct span bytes, const struct viewed *seen,
	const struct array_want *how)
{
	if (im->instead)
		return hold_instead(im, off, bytes, how);
	const size_t before = off < im->end ? (size_t)min_u64(bytes.len, im->end - off) : 0;
	const struct span behind = {bytes.data + before, bytes.len - before};
	if (before && held_bytes(&im->over) + before > im->start.most)
		return err_set(-EFBIG,
			"more than %zu bytes wait for a header that gives them a meaning",
			im->start.most);
	int r = before ? put(im, off, (struct span){bytes.data, before}, seen) : 0;
	if (r == 0 && behind.len)
		r = spill_write(&im->tail, off + before - im->end, behind, im->start.most);
	if (r == 0)
		im->size = max_u64(im->size, off + bytes.len);
	im->waiting = true;
	return r;
}

int
image_try(struct image *im, uint64_t off, struct span bytes, const struct viewed *seen,
	const struct array_want *how)
{
	if (im->flow)
		return image_flow_write(im, off, bytes, how);
	if (im->waiting || im->instead || !im->form || off + bytes.len > im->end)
		return IMAGE_MUST_WAIT;
	return image_through(im, off, bytes, seen, how);
}

int
image_put(struct image *im, uint64_t off, struct span bytes, const struct viewed *seen,
	const struct array_want *how)
{
	int r = image_try(im, off, bytes, seen, how);
	return r == IMAGE_MUST_WAIT ? hold(im, off, bytes, seen, how) : r;
}

int
image_write(struct image *im, uint64_t off, struct span bytes, struct viewed *seen,
	const struct array_want *how)
{
	if (off > INT64_MAX / 4 || !bytes.len)
		return bytes.len ? err_set(-EFBIG, "no file is that long") : 0;
	int r = turn_take(&im->turn, how->deadline);
	if (r < 0)
		return r;
	if (seen)
		viewed_of(seen, im->cuts);
	r = image_put(im, off, bytes, seen, how);
	/* What failed may be there in part. */
	for (struct viewed *s = im->seen; s; s = s->next)
		if (r < 0 || s != seen)
			viewed_drop(s, off, off + bytes.len);
	if (r == 0)
		note(im, seen, off, bytes);
	return turn_give(&im->turn, r);
}

int
image_truncate(struct image *im, uint64_t size, bool longer, const struct array_want *how)
{
	if (size > INT64_MAX / 4)
		return err_set(-EFBIG, "no file is that long");
	int r = turn_take(&im->turn, how->deadline);
	if (r < 0 || size == im->size || (longer && size < im->size))
		return r < 0 ? r : turn_give(&im->turn, 0);
	if (im->flow && size)
		r = image_flow_end(im, how);
	else if (im->flow)
		image_flow_drop(im);
	if (!size) {
		im->instead = &im->own;
		im->flowed = false;
	}
	if (r == 0 && im->instead)
		r = spill_truncate(im->instead, size, im->start.most);
	if (r < 0)
		return turn_give(&im->turn, r);
	if (!im->instead && size > im->end)
		r = spill_truncate(&im->tail, size - im->end, im->start.most);
	else if (!im->instead)
		spill_free(&im->tail);
	if (r < 0)
		return turn_give(&im->turn, r);
	if (size < im->size)
		held_drop(&im->over, size, UINT64_MAX / 2);
	im->end = min_u64(im->end, size);
	im->cut = min_u64(im->cut, size);
	im->size = size;
	im->cuts++;
	im->waiting = true;
	im->header_due = true;
	return turn_give(&im->turn, 0);
}
