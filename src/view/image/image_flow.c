/* A new file of new variables, whose bytes go to them as they come: so it may have any size. Its
 * arrays are made when all has come; what comes in another order than that of the file goes to its
 * place as well, and a header that changes makes the file one that waits as others do. */
#include "view/image/image_impl.h"

#include "base/check.h"
#include "store/zmap.h"
#include "view/image/nc_parse.h"

#include <errno.h>
#include <string.h>

static const uint64_t HEADER_MOST = 16 << 20; /* bytes; a longer header waits */
static const uint64_t LOOK_FIRST =
	64 << 10; /* bytes after which a header is looked for, and each time they have doubled */
static const uint64_t PIECE = 1 << 20;

bool
image_flows(struct image *im)
{
	return atomic_load(&im->flows);
}

/* Does the header leave open how many records there are? They are counted by a size that the file
 * does not have yet. */
static bool
is_open(const struct span *s)
{
	static const uint8_t open[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	enum { AT = 4 };
	return s->len < AT + sizeof open ||
	       !memcmp(s->data + AT, open, s->data[AT - 1] == CDF_5 ? 8 : 4);
}

/* The header of a file that is still to come. 0, NC_PARSE_MORE or -errno. */
static int
parse(const struct spill *s, struct nc_file *ret, struct buf *header)
{
	size_t len = 0;
	const size_t n = (size_t)min_u64(s->size, HEADER_MOST);
	int r = buf_reserve(header, n + 1);
	if (r == 0)
		r = spill_read(s, 0, n, header->data);
	header->len = n;
	if (r < 0)
		return r;
	const struct span bytes = buf_span(header);
	if (is_open(&bytes))
		return NC_PARSE_MORE;
	r = nc_parse(bytes, s->size, ret, &len);
	if (r == 0)
		header->len = len;
	return r ? r : nc_parse_places(ret, len, ret->size);
}

bool
image_would_flow(const struct spill *s, size_t most, uint64_t before)
{
	CLEAN(buf_free) struct buf header = {0};
	struct nc_file f = {.record = NC_NO_DIM};
	uint64_t at = LOOK_FIRST;
	while (at <= before)
		at *= 2;
	if (s->size < at || s->size > most)
		return false;
	bool is = parse(s, &f, &header) == 0 && f.size > most && f.size > s->size;
	nc_file_free(&f);
	return is;
}

static bool
all_new(const struct change *c)
{
	bool all = true;
	for (size_t i = 0; i < c->now->file.nvars; i++)
		all &= c->var[i] == CHANGE_NONE;
	return all;
}

/* The new form with what has its elements. ZMAP_ABSENT: some of its variables are not new, or not
 * taken. */
static int
bind(struct image *im, struct change *c, struct image_form *now, const struct array_want *how)
{
	const bool keep = im->start.own != CHANGE_NONE || im->start.keep;
	int r = change_make(
		im->form, now, CHANGE_REWRITTEN | (keep ? CHANGE_KEEP : 0), im->start.own, c);
	if (r < 0)
		return r;
	c->flows = true;
	r = all_new(c) ? im->start.ops->bind(im->start.arg, c, now, how) : ZMAP_ABSENT;
	for (size_t i = 0; r == 0 && i < now->file.nvars; i++)
		if (!now->source[i].target)
			r = ZMAP_ABSENT;
	return r ? r : im->start.ops->begin(im->start.arg, now);
}

static int
make_form(const struct spill *s, struct image_form **ret)
{
	CLEAN(buf_free) struct buf header = {0};
	struct nc_file f = {.record = NC_NO_DIM};
	int r = parse(s, &f, &header);
	if (r == 0)
		r = image_form_new(&f, buf_span(&header), NULL, ret);
	nc_file_free(&f);
	return r;
}

/* From here on bytes go to the form's variables. */
static void
begin(struct image *im, struct image_flow *flow, struct image_form *now)
{
	flow->was = im->form;
	im->flow = flow;
	im->form = now;
	im->instead = NULL;
	im->cut = im->end = now->size;
	im->flows = true;
}

static void
end(struct image *im)
{
	im->flow->was = NULL;
	change_free(&im->flow->change);
	free(im->flow);
	im->flow = NULL;
	im->flows = false;
	spill_free(&im->tail);
	held_drop(&im->over, 0, UINT64_MAX / 2);
}

int
image_undo(struct image *im, const struct image_form *now, int code)
{
	struct err why;
	err_save(code, &why);
	if (code != -EINTR && im->start.ops->undo) /* which waits */
		im->start.ops->undo(im->start.arg, now);
	return err_restore(&why);
}

/* Its variables are not to be, and what it was shows again beneath what waits. */
static void
go_back(struct image *im)
{
	struct image_form *now = im->form;
	im->start.ops->undo(im->start.arg, now);
	im->form = im->flow->was;
	end(im);
	image_form_free(now, &im->start.ops->store, im->start.arg);
	im->cut = im->end = 0;
}

void
image_flow_drop(struct image *im)
{
	go_back(im);
	im->size = 0;
}

/* Bytes that were held, under the form that they are to have. */
static int
feed(struct image *im, const struct spill *from, const struct array_want *how)
{
	CLEAN(clean_free) uint8_t *bytes = malloc(PIECE);
	int r = bytes ? 0 : err_set(-ENOMEM, "no memory for a file");
	for (uint64_t at = im->form->header.len, n; r == 0 && at < from->size; at += n) {
		n = min_u64(PIECE, from->size - at);
		r = spill_read(from, at, (size_t)n, bytes);
		if (r == 0)
			r = image_blind(im, at, (struct span){bytes, (size_t)n}, how);
	}
	return r;
}

int
image_flow_begin(struct image *im, const struct array_want *how)
{
	struct image_form *now = NULL;
	struct spill *from = im->instead;
	struct image_flow *flow = calloc(1, sizeof *flow);
	const uint64_t size = im->size;
	im->flowed = true;
	if (!flow)
		return err_set(-ENOMEM, "no memory for a file");
	int r = im->start.ops->begin ? make_form(from, &now) : ZMAP_ABSENT;
	if (r == 0)
		r = bind(im, &flow->change, now, how);
	if (r) {
		change_free(&flow->change);
		free(flow);
		image_form_free(now, &im->start.ops->store, im->start.arg);
		return r < 0 ? r : ZMAP_ABSENT;
	}
	begin(im, flow, now);
	r = feed(im, from, how);
	if (r == 0) {
		spill_free(from);
		return 0;
	}
	go_back(im);
	im->instead = from;
	im->size = size;
	return r < 0 ? r : ZMAP_ABSENT;
}

int
image_flow(struct image *im, const struct array_want *how)
{
	int r = turn_take(&im->turn, how->deadline);
	return r < 0 ? r : turn_give(&im->turn, image_flow_begin(im, how));
}

int
image_flow_end(struct image *im, const struct array_want *how)
{
	CLEAN(clean_free) uint8_t *bytes = malloc(PIECE);
	struct spill copy = {.fd = -1}, *to = im->start.instead ? im->start.instead : &im->own;
	const uint64_t size = im->size;
	struct array_want w = *how;
	int r = bytes ? 0 : err_set(-ENOMEM, "no memory for a file");
	for (w.off = 0; r == 0 && w.off < size; w.off += w.len) {
		w.len = (size_t)min_u64(PIECE, size - w.off);
		r = image_content(im, &w, bytes);
		if (r == 0)
			r = spill_write(&copy, w.off, (struct span){bytes, w.len}, im->start.most);
	}
	if (r < 0) {
		spill_free(&copy);
		return r;
	}
	go_back(im);
	spill_free(to);
	*to = copy;
	im->instead = to;
	return 0;
}

int
image_flow_back(struct image *im, const struct array_want *how)
{
	int r = turn_take(&im->turn, how->deadline);
	if (r == 0)
		r = turn_give(&im->turn, im->flow ? image_flow_end(im, how) : 0);
	return r;
}

/* A write that leaves some out: as in any file, there are zeros. */
static int
skip(struct image *im, uint64_t to, const struct array_want *how)
{
	CLEAN(clean_free) uint8_t *zeros = calloc(1, PIECE);
	int r = zeros ? 0 : err_set(-ENOMEM, "no memory for a file");
	for (uint64_t n; r == 0 && im->size < to; im->size += n) {
		n = min_u64(PIECE, to - im->size);
		r = image_blind(im, im->size, (struct span){zeros, (size_t)n}, how);
		if (r)
			break;
	}
	return r;
}

int
image_flow_write(struct image *im, uint64_t off, struct span bytes, const struct array_want *how)
{
	const uint64_t end = im->form->size;
	const size_t before = off < end ? (size_t)min_u64(bytes.len, end - off) : 0;
	const struct span behind = {bytes.data + before, bytes.len - before};
	int r = off > im->size && im->size < end ? skip(im, min_u64(off, end), how) : 0;
	if (r == 0 && before)
		r = image_blind(im, off, (struct span){bytes.data, before}, how);
	if (r == 0 && behind.len)
		r = spill_write(&im->tail, off + before - end, behind, im->start.most);
	if (r == 0)
		im->size = max_u64(im->size, off + bytes.len);
	if (r != IMAGE_MUST_WAIT)
		return r;
	r = image_flow_end(im, how);
	return r < 0 ? r : IMAGE_MUST_WAIT;
}

int
image_flow_settle(struct image *im, const struct array_want *how)
{
	struct image_flow *flow = im->flow;
	const struct image_ops *ops = im->start.ops;
	int r = nc_parse_places(&im->form->file, im->form->header.len, im->size);
	if (r == 0)
		r = image_parts(im, how);
	if (r == 0)
		r = ops->commit(im->start.arg, &flow->change, how);
	if (r < 0)
		return r;
	if (im->start.own != CHANGE_NONE)
		im->start.own = image_own_of(&flow->change, im->start.own);
	image_form_free(flow->was, &ops->store, im->start.arg);
	/* What lies behind all that the header counts waits for the next one. */
	struct spill rest = im->tail;
	im->tail = (struct spill){.fd = -1};
	end(im);
	im->tail = rest;
	im->cut = im->end = im->form->size;
	im->waiting = im->header_due = false;
	return 0;
}
