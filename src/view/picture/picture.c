/* VAR.png and VAR.I.J.png: pictures of variables. */
#include "view/picture/picture.h"

#include "base/hash.h"
#include "base/path.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

/* Bytes of an element while it is drawn: as stored, as a number, as a pixel. */
enum { ELEMENT_COST = 24 };

/* What the span of an open file makes its bytes of. */
struct picture_shown {
	struct picture picture; /* with a reference to its node */
	struct picture_axes axes;
	struct picture_reader reader;
	_Atomic uint64_t bytes; /* hash of what has been read; 0: nothing yet */
};

struct drawing {
	struct picture_shown *shown;
	struct stream *elements;
};

static size_t
cost_of(const struct picture *p)
{
	return p->size + ELEMENT_COST * p->side[0].shown * p->side[1].shown;
}

/* When it was last noticed that something which the picture shows has changed. */
static int64_t
changed(void *arg)
{
	const struct picture_shown *s = ((struct drawing *)arg)->shown;
	struct facts *f = &s->picture.mount->facts;
	int64_t newest = facts_noticed(f, s->picture.node->path, false);
	for (unsigned d = 0; d < s->axes.rank; d++) {
		const struct node *c = s->axes.axis[d].coordinate;
		int64_t t = c ? facts_noticed(f, c->path, false) : 0;
		newest = t > newest ? t : newest;
	}
	return newest;
}

static int
draw(void *arg, const struct array_want *want, struct buf *ret)
{
	const struct drawing *d = arg;
	return picture_draw(&d->shown->picture, &d->shown->axes, d->elements, want, ret);
}

static int
make(void *arg, struct stream *elements, const struct array_want *want, struct buf *to)
{
	struct picture_shown *s = arg;
	struct mount *m = s->picture.mount;
	struct drawing d = {s, elements};
	const struct picture_wish wish = {&s->reader, cost_of(&s->picture), changed, draw, &d};
	struct kept_picture *k = NULL;
	uint64_t before = 0;
	int r = pictures_get(m, &wish, want, &k);
	if (r < 0)
		return r;
	const uint64_t hash = pictures_hash(k);
	bool same = atomic_compare_exchange_strong(&s->bytes, &before, hash) || before == hash;
	if (same)
		r = pictures_add(k, want, to);
	pictures_put(m, k, &s->reader, want);
	return same ? r : err_set(-EIO, "what the picture shows has changed while it was read");
}

static void
shown_free(void *arg)
{
	struct picture_shown *s = arg;
	pictures_leave(s->picture.mount, &s->reader);
	picture_axes_free(&s->axes);
	node_unref(s->picture.node);
	free(s);
}

static const struct made_ops bytes = {.make = make, .free = shown_free};
static const struct made_ops nothing = {.make = NULL};

/* --- the view --- */

/* Of an image among others the group above says what its channels are. */
static uint64_t
hash_group(struct mount *m, const struct node *n, uint64_t h)
{
	static const char mark[] = "\"multiscales\"";
	CLEAN(clean_free) char *group = path_above(n->path);
	CLEAN(node_unrefp) struct node *g = NULL;
	if (!group || !*n->path || model_lookup_known(m->model, group, &g) != 0 || !g->attrs_text ||
		!memmem(g->attrs_text, g->attrs_len, mark, sizeof mark - 1))
		return h;
	return hash_bytes(h, g->attrs_text, g->attrs_len);
}

static int
version_of(const struct picture *p, const struct picture_axes *axes, uint64_t *ret)
{
	struct attrs as = {0};
	uint64_t h = hash_number(variable_version(p->node, 0), p->size);
	int r = node_attrs(p->node, &as);
	for (unsigned d = 0; d < p->leading; d++)
		h = hash_number(h, p->index[d]);
	for (unsigned i = 0; i < PICTURE_SIDES; i++)
		h = hash_number(h, p->side[i].stride);
	for (unsigned d = 0; d < axes->rank; d++)
		if (axes->axis[d].name)
			h = hash_text(axis_hash(&axes->axis[d], h), axes->axis[d].name);
	for (size_t i = 0; i < as.count && r == 0; i++) {
		CLEAN(clean_free) char *text = attr_text(&as.attr[i]);
		h = hash_text(hash_text(h, as.attr[i].name), text ? text : "");
	}
	attrs_free(&as);
	*ret = hash_end(hash_group(p->mount, p->node, h));
	return r;
}

/* Takes a reference to the node. */
static int
shown_new(struct mount *m, const struct node *n, const char *path, struct picture_shown **ret)
{
	struct picture_shown *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory for a picture");
	int r = picture_plan(m, n, path, &s->picture);
	if (r < 0) {
		free(s);
		return r;
	}
	node_ref((struct node *)n);
	s->reader.path = hash_end(hash_text(HASH_START, path));
	r = picture_axes_new(&s->picture, &s->axes);
	if (r == 0)
		r = version_of(&s->picture, &s->axes, &s->reader.version);
	if (r < 0)
		shown_free(s);
	else
		*ret = s;
	return r;
}

static bool
applies(struct mount *m, const struct node *n)
{
	return picture_shows(n);
}

static int
measure(struct mount *m, const struct node *n, const char *path, struct view_facts *ret)
{
	struct picture_shown *s = NULL;
	int r = shown_new(m, n, path, &s);
	*ret = (struct view_facts){.size = SIZE_OF_UNREADABLE, .version = variable_version(n, 0)};
	if (r == -EFBIG)
		return 0; /* opening it says why */
	if (r < 0)
		return r;
	ret->size = s->picture.size;
	ret->version = s->reader.version;
	for (unsigned d = 0; d < s->axes.rank; d++)
		if (s->axes.axis[d].coordinate && s->axes.axis[d].coordinate->mtime > ret->mtime)
			ret->mtime = s->axes.axis[d].coordinate->mtime;
	shown_free(s);
	return 0;
}

/* Coordinates belong to the layout, of no length: what changes in them is noticed. */
static int
open_axes(struct mount *m, struct picture_shown *s, struct layout *l)
{
	int r = 0;
	for (unsigned d = 0; d < s->axes.rank && r == 0; d++) {
		struct variable *v = NULL;
		r = axis_open(m, &s->axes.axis[d], &v);
		if (r == 0 && v)
			r = layout_add_made(l, &nothing, NULL, v, 0);
	}
	return r;
}

static int
lay_out(struct mount *m, const struct node *n, const char *path, struct layout **ret)
{
	CLEAN(layout_unrefp) struct layout *l = NULL;
	struct variable *v = NULL;
	struct picture_shown *s = NULL;
	int r = shown_new(m, n, path, &s);
	if (r < 0)
		return r;
	r = layout_new(s->reader.version, &l);
	if (r == 0)
		r = open_axes(m, s, l);
	if (r == 0)
		r = variable_get(m, n, 0, &v);
	if (r < 0) {
		shown_free(s);
		return r;
	}
	r = layout_add_made(l, &bytes, s, v, s->picture.size);
	if (r == 0)
		*ret = MOVE(l);
	return r;
}

const struct view_ops view_picture = {
	.suffix = ".png",
	.list = LIST_PNG,
	.applies = applies,
	.has_part = picture_has_part,
	.measure = measure,
	.lay_out = lay_out,
	.beside = &view_nc,
};
