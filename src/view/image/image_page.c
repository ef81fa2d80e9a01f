/* Pages that come back from mappings: of all handles, and with bytes that others have written since
 * they were filled. */
#include "view/image/image_impl.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>

/* What the page is compared with. */
static int
show(struct image *im, uint64_t off, size_t len, const struct array_want *how, uint8_t *ret)
{
	struct array_want w = *how;
	if (how->shown) {
		memcpy(ret, how->shown, len);
		return 0;
	}
	w.off = off;
	w.len = off < im->size ? (size_t)min_u64(len, im->size - off) : 0;
	memset(ret + w.len, 0, len - w.len);
	return image_content(im, &w, ret);
}

/* The byte of the file's elements, if it shows the variable's own: how many of its element lie
 * before it, and behind it. */
static void
find_element(const struct image *im, uint64_t off, size_t *ret_before, size_t *ret_behind)
{
	*ret_before = *ret_behind = 0;
	if (!im->form || im->instead || off >= im->cut)
		return;
	const struct image_piece p = image_form_at(im->form, off);
	if (p.owner != IMAGE_DATA || !im->form->source[p.var].target)
		return;
	const size_t size = im->form->source[p.var].convert.atom_out;
	*ret_before = p.in % size;
	*ret_behind = size - 1 - *ret_before;
}

/* What of the page is held: the rest of it may be older than what others have written. Elements
 * are whole, for those of the store may be others' by now. */
static int
hold(struct image *im, uint64_t off, struct span bytes, const uint8_t *was,
	const struct array_want *how)
{
	int r = 0;
	for (size_t at = 0, to; r == 0 && span_differs(bytes, was, &at, &to); at = to) {
		size_t before, behind, unused;
		find_element(im, off + at, &before, &unused);
		find_element(im, off + to - 1, &unused, &behind);
		at -= min_u64(before, at);
		to += min_u64(behind, bytes.len - to);
		r = image_put(im, off + at, (struct span){bytes.data + at, to - at}, NULL, how);
	}
	return r;
}

/* With all of the page elements are whole. */
static int
put(struct image *im, uint64_t off, struct span bytes, const uint8_t *was,
	const struct array_want *how)
{
	struct viewed page = {.most = SIZE_MAX, .file = im->cuts};
	int r = IMAGE_MUST_WAIT;
	if (!im->flow) {
		viewed_note(&page, off, (struct span){was, bytes.len});
		r = image_try(im, off, bytes, &page, how);
		viewed_free(&page);
	}
	return r == IMAGE_MUST_WAIT ? hold(im, off, bytes, was, how) : r;
}

int
image_write_page(struct image *im, uint64_t off, struct span bytes, const struct array_want *how)
{
	CLEAN(clean_free) uint8_t *was = malloc(bytes.len + 1);
	int r = was ? turn_take(&im->turn, how->deadline)
		    : err_set(-ENOMEM, "no memory for %zu bytes", bytes.len);
	if (r < 0)
		return r;
	r = show(im, off, bytes.len, how, was);
	if (r == 0)
		r = put(im, off, bytes, was, how);
	for (struct viewed *s = im->seen; s && r < 0; s = s->next)
		viewed_drop(s, off, off + bytes.len);
	for (size_t at = 0, end; r == 0 && span_differs(bytes, was, &at, &end); at = end)
		for (struct viewed *s = im->seen; s; s = s->next)
			viewed_drop(s, off + at, off + end);
	return turn_give(&im->turn, r);
}
