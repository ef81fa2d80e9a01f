/* What attributes say of a variable's numbers, and OME-NGFF of images
 * (https://ngff.openmicroscopy.org/0.5/). */
#include "view/picture/picture.h"

#include "base/path.h"

#include "view/missing.h"
#include "view/state.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FLAGS_MOST = SHADES, MISSING_MOST = 64 };

void
picture_meaning_free(struct picture_meaning *k)
{
	for (size_t i = 0; k->flag_name && i < k->nflags; i++)
		free(k->flag_name[i]);
	free(k->flag_name);
	free(k->flag);
	free(k->missing);
	free(k->title);
	free(k->units);
}

static double
number_at(const struct attr *a, size_t i)
{
	const struct attr_number n = attr_number(a, i);
	return n.real ? n.d : n.above ? (double)n.u : (double)n.i;
}

/* Attributes have more digits than elements of four bytes. */
static double
as_element(const struct dtype *t, double v)
{
	return t->kind == DTYPE_FLOAT && t->size == 4 ? (double)(float)v : v;
}

static const struct attr *
find_numbers(const struct attrs *as, const char *name)
{
	const struct attr *a = attrs_find(as, name);
	return a && a->count && attr_is_number(a) ? a : NULL;
}

static int
take_missing(const struct picture *p, const struct attrs *as, struct picture_meaning *k)
{
	const struct dtype *t = &p->node->array->dtype;
	const struct attr *a = find_numbers(as, "missing_value");
	CLEAN(buf_free) struct buf fill = {0};
	int r = missing_value(p->mount, p->node, as, 0, &fill);
	if (r < 0)
		return r;
	k->missing = calloc(MISSING_MOST + 1, sizeof *k->missing);
	if (!k->missing)
		return err_set(-ENOMEM, "no memory for a picture");
	for (size_t i = 0; a && i < a->count && i < MISSING_MOST; i++)
		k->missing[k->nmissing++] = as_element(t, number_at(a, i));
	if (fill.len != t->size || t->kind == DTYPE_COMPLEX)
		return 0;
	double *number = NULL;
	struct picture one = *p;
	const struct picture_meaning plain = {.without_sign = k->without_sign};
	one.side[0] = one.side[1] =
		(struct picture_side){.size = 1, .chunk = 1, .stride = 1, .shown = 1};
	r = picture_numbers(&one, &plain, fill.data, false, &number);
	if (r == 0)
		k->missing[k->nmissing++] = *number;
	free(number);
	return r;
}

/* Word i of a text, with blanks for what stands for them. */
static char *
word_at(const char *text, size_t i)
{
	static const char blanks[] = " \t\n";
	for (text += strspn(text, blanks); i; i--) {
		text += strcspn(text, blanks);
		text += strspn(text, blanks);
	}
	char *word = strndup(text, strcspn(text, blanks));
	for (char *p = word; p && *p; p++)
		if (*p == '_')
			*p = ' ';
	return word;
}

static int
take_flags(const struct attrs *as, struct picture_meaning *k)
{
	const struct attr *a = find_numbers(as, "flag_values");
	const char *meanings = attrs_text(as, "flag_meanings");
	if (!a || a->count > FLAGS_MOST)
		return 0;
	k->flag = calloc(a->count, sizeof *k->flag);
	k->flag_name = meanings ? calloc(a->count, sizeof *k->flag_name) : NULL;
	if (!k->flag || (meanings && !k->flag_name))
		return err_set(-ENOMEM, "no memory for a picture");
	for (; k->nflags < a->count; k->nflags++) {
		k->flag[k->nflags] = number_at(a, k->nflags);
		if (meanings && !(k->flag_name[k->nflags] = word_at(meanings, k->nflags)))
			return err_set(-ENOMEM, "no memory for a picture");
	}
	return 0;
}

static int
take_words(const struct picture *p, const struct attrs *as, struct picture_meaning *k)
{
	const struct dtype *t = &p->node->array->dtype;
	const char *title = attrs_text(as, "long_name"), *units = attrs_text(as, "units");
	if (!title || !*title)
		title = attrs_text(as, "standard_name");
	if (!title || !*title)
		title = *p->node->path ? p->node->name : p->mount->single;
	bool dates = t->kind == DTYPE_DATETIME
			     ? cf_time_of_dtype(t, &k->time) == 0
			     : t->kind != DTYPE_COMPLEX && cf_time_of_attrs(as, &k->time) == 0;
	k->is_time = dates;
	if (asprintf(&k->title, "%s%s", t->kind == DTYPE_COMPLEX ? "magnitude of " : "", title) < 0)
		k->title = NULL;
	if (units && *units && !dates)
		k->units = strdup(units);
	return k->title && (k->units || !units || !*units || dates)
		       ? 0
		       : err_set(-ENOMEM, "no memory for a picture");
}

static void
take_packing(const struct picture *p, const struct attrs *as, struct picture_meaning *k)
{
	const struct attr *factor = find_numbers(as, "scale_factor"),
			  *offset = find_numbers(as, "add_offset");
	const char *without = attrs_text(as, "_Unsigned");
	k->factor = factor ? number_at(factor, 0) : 1;
	k->offset = offset ? number_at(offset, 0) : 0;
	k->without_sign = p->node->array->dtype.kind == DTYPE_INT && without &&
			  strcasecmp(without, "true") == 0;
}

/* --- OME --- */

/* The image that has this array among its levels. */
static const struct json *
find_image(const struct json *attrs, const char *name)
{
	const struct json *ome = json_get(attrs, "ome");
	const struct json *images = json_get(ome ? ome : attrs, "multiscales");
	for (size_t i = 0; images && i < json_count(images); i++) {
		const struct json *levels = json_get(json_at(images, i), "datasets");
		for (size_t k = 0; levels && k < json_count(levels); k++) {
			const struct json *path = json_get(json_at(levels, k), "path");
			if (path && json_is(path, name))
				return json_at(images, i);
		}
	}
	return NULL;
}

/* Which dimension has the channels; rank: none. */
static unsigned
channel_dim(const struct json *image, unsigned rank)
{
	const struct json *axes = json_get(image, "axes");
	for (unsigned d = 0; axes && d < rank && d < json_count(axes); d++) {
		const struct json *axis = json_at(axes, d);
		const struct json *type = json_get(axis, "type"), *name = json_get(axis, "name");
		if ((type && json_is(type, "channel")) || json_is(name ? name : axis, "c"))
			return d;
	}
	return axes || rank != 5 ? rank : 1; /* before version 0.3: t, c, z, y, x */
}

static bool
edge(const struct json *window, const char *name, const char *other, double *ret)
{
	const struct json *v = json_get(window, name);
	if (!v)
		v = json_get(window, other);
	return v && json_double(v, ret) == 0 && isfinite(*ret);
}

static void
take_window(const struct picture *p, const struct json *attrs, const struct json *image,
	struct picture_meaning *k)
{
	const struct json *ome = json_get(attrs, "ome");
	const struct json *omero = json_get(ome ? ome : attrs, "omero");
	const struct json *channels = omero ? json_get(omero, "channels") : NULL;
	unsigned d = channel_dim(image, p->node->array->rank);
	const struct json *one =
		channels ? json_at(channels, d < p->leading ? p->index[d] : 0) : NULL;
	const struct json *window = one ? json_get(one, "window") : NULL;
	k->window = window && edge(window, "start", "min", &k->low) &&
		    edge(window, "end", "max", &k->high) && k->low < k->high;
}

static int
take_image(const struct picture *p, struct picture_meaning *k)
{
	const char *path = p->node->path;
	if (!*path)
		return 0;
	CLEAN(clean_free) char *group = path_above(path);
	CLEAN(node_unrefp) struct node *n = NULL;
	CLEAN(json_freep) struct json *attrs = NULL;
	if (!group)
		return err_set(-ENOMEM, "no memory for a path");
	int r = model_lookup_known(p->mount->model, group, &n);
	if (r)
		return r < 0 ? r : 0;
	if (!n->attrs_text || json_parse(n->attrs_text, n->attrs_len, &attrs) < 0)
		return 0;
	const struct json *image = find_image(attrs, p->node->name);
	k->image = image;
	if (image)
		take_window(p, attrs, image, k);
	return 0;
}

int
picture_meaning(const struct picture *p, struct picture_meaning *ret)
{
	struct picture_meaning k = {0};
	struct attrs as = {0};
	int r = node_attrs(p->node, &as);
	if (r == 0)
		r = take_words(p, &as, &k);
	if (r == 0) {
		take_packing(p, &as, &k);
		r = take_missing(p, &as, &k);
	}
	if (r == 0 && p->kind == PICTURE_MAP)
		r = take_flags(&as, &k);
	if (r == 0 && p->kind == PICTURE_MAP)
		r = take_image(p, &k);
	attrs_free(&as);
	if (r < 0)
		picture_meaning_free(&k);
	else
		*ret = k;
	return r;
}
