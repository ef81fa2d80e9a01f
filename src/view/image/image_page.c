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

/* The next run of bytes that differ, from *at on. False: there is none. */
static bool
next_run(struct span bytes, const uint8_t *was, size_t *at, size_t *ret_end)
{
	while (*at < bytes.len && bytes.data[*at] == was[*at])
		(*at)++;
	*ret_end = *at;
	while (*ret_end < bytes.len && bytes.data[*ret_end] != was[*ret_end])
		(*ret_end)++;
	return *at < *ret_end;
}

/* With all of the page elements are whole. Where nothing is compared with what there was, only what
 * differs is written. */
static int
put(struct image *im, uint64_t off, struct span bytes, const uint8_t *was,
	const struct array_want *how)
{
	struct viewed page = {.most = SIZE_MAX, .file = im->cuts};
	int r = 0;
	if (!im->instead && !im->flow) {
		viewed_note(&page, off, (struct span){was, bytes.len});
		r = image_put(im, off, bytes, &page, how);
		viewed_free(&page);
		return r;
	}
	for (size_t at = 0, end; r == 0 && next_run(bytes, was, &at, &end); at = end)
		r = image_put(im, off + at, (struct span){bytes.data + at, end - at}, NULL, how);
	return r;
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
	for (size_t at = 0, end; r == 0 && next_run(bytes, was, &at, &end); at = end)
		for (struct viewed *s = im->seen; s; s = s->next)
			viewed_drop(s, off + at, off + end);
	return turn_give(&im->turn, r);
}
