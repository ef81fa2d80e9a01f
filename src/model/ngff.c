#include "model/ngff.h"

#include "base/err.h"
#include "model/nczarr.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES_MAX = 16, LEVELS_MAX = 64 };

struct ngff_axis {
	char *name, *unit; /* unit NULL: not said */
	char letter;       /* as CF calls it: X, Y, Z, T; 0: none of them */
	bool channel;      /* its indices are places of nothing */
};

/* Place of element i: i × scale + offset. */
struct ngff_level {
	char *path;
	bool placed;
	double scale[RANK_MAX], offset[RANK_MAX];
};

struct ngff_image {
	unsigned rank;
	struct ngff_axis axis[RANK_MAX];
	struct ngff_level *level;
	size_t levels;
};

struct ngff {
	struct ngff_image image[IMAGES_MAX];
	size_t n;
};

struct ngff *
ngff_free(struct ngff *g)
{
	if (!g)
		return NULL;
	for (size_t i = 0; i < g->n; i++) {
		struct ngff_image *m = &g->image[i];
		for (unsigned a = 0; a < m->rank; a++) {
			free(m->axis[a].name);
			free(m->axis[a].unit);
		}
		for (size_t l = 0; l < m->levels; l++)
			free(m->level[l].path);
		free(m->level);
	}
	free(g);
	return NULL;
}

/* A text that can be a name; NULL: none. */
static const char *
plain(const struct json *v)
{
	size_t len;
	const char *s = v && json_type(v) == JSON_TYPE_TEXT ? json_text(v, &len) : NULL;
	return s && *s && strlen(s) == len ? s : NULL;
}

static char
letter_of(const char *name, const struct json *type)
{
	if (type && json_is(type, "time"))
		return 'T';
	bool space = !type || json_is(type, "space");
	char c = (char)toupper((unsigned char)name[0]);
	return space && !name[1] && strchr("XYZ", c) ? c : 0;
}

/* A dict, or in version 0.3 the name alone. */
static int
read_axis(const struct json *v, struct ngff_axis *ret)
{
	const struct json *type = json_get(v, "type");
	const char *name = plain(json_type(v) == JSON_TYPE_DICT ? json_get(v, "name") : v);
	const char *unit = plain(json_get(v, "unit"));
	if (!name)
		return ZMAP_ABSENT;
	ret->name = strdup(name);
	ret->unit = unit ? strdup(unit) : NULL;
	ret->letter = letter_of(name, type);
	ret->channel = type && json_is(type, "channel");
	return ret->name && (ret->unit || !unit) ? 0 : err_set(-ENOMEM, "no memory for an axis");
}

static bool
numbers(const struct json *v, unsigned n, double *ret)
{
	if (!v || json_type(v) != JSON_TYPE_LIST || json_count(v) != n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (json_double(json_at(v, i), &ret[i]) < 0 || !isfinite(ret[i]))
			return false;
	return true;
}

/* In their order. False: there is one that is not known. */
static bool
transform(const struct json *list, unsigned rank, struct ngff_level *l)
{
	for (size_t i = 0; list && i < json_count(list); i++) {
		const struct json *t = json_at(list, i), *type = json_get(t, "type");
		double by[RANK_MAX];
		bool scale = type && json_is(type, "scale");
		bool move = type && json_is(type, "translation");
		if (type && json_is(type, "identity"))
			continue;
		if ((!scale && !move) ||
			!numbers(json_get(t, scale ? "scale" : "translation"), rank, by))
			return false;
		for (unsigned d = 0; d < rank; d++) {
			l->scale[d] *= scale ? by[d] : 1;
			l->offset[d] = scale ? l->offset[d] * by[d] : l->offset[d] + by[d];
		}
	}
	return list;
}

static int
read_level(const struct json *v, const struct json *all, struct ngff_image *m)
{
	struct ngff_level *l = &m->level[m->levels];
	const char *path = plain(json_get(v, "path"));
	if (!path)
		return 0;
	l->path = strdup(path);
	if (!l->path)
		return err_set(-ENOMEM, "no memory for an image");
	m->levels++;
	for (unsigned d = 0; d < m->rank; d++)
		l->scale[d] = 1;
	l->placed = transform(json_get(v, "coordinateTransformations"), m->rank, l) &&
		    (!all || transform(all, m->rank, l));
	return 0;
}

static int
read_image(const struct json *v, struct ngff_image *m)
{
	const struct json *axes = json_get(v, "axes"), *sets = json_get(v, "datasets");
	size_t n = axes && json_type(axes) == JSON_TYPE_LIST ? json_count(axes) : 0;
	if (!n || n > RANK_MAX || !sets || json_type(sets) != JSON_TYPE_LIST)
		return 0;
	int r = 0;
	for (; m->rank < n && r == 0; m->rank++)
		r = read_axis(json_at(axes, m->rank), &m->axis[m->rank]);
	if (r)
		return r < 0 ? r : 0;
	size_t levels = json_count(sets) < LEVELS_MAX ? json_count(sets) : LEVELS_MAX;
	m->level = calloc(levels + 1, sizeof *m->level);
	if (!m->level)
		return err_set(-ENOMEM, "no memory for an image");
	for (size_t i = 0; i < levels && r == 0; i++)
		r = read_level(json_at(sets, i), json_get(v, "coordinateTransformations"), m);
	return r;
}

int
ngff_parse(const struct json *attrs, struct ngff **ret)
{
	const struct json *ome = attrs ? json_get(attrs, "ome") : NULL;
	const struct json *list = attrs ? json_get(ome ? ome : attrs, "multiscales") : NULL;
	if (!list || json_type(list) != JSON_TYPE_LIST || !json_count(list))
		return 0;
	struct ngff *g = calloc(1, sizeof *g);
	int r = g ? 0 : err_set(-ENOMEM, "no memory for an image");
	for (size_t i = 0; r == 0 && i < json_count(list) && i < IMAGES_MAX; i++)
		r = read_image(json_at(list, i), &g->image[g->n++]);
	if (r < 0)
		ngff_free(g);
	else
		*ret = g;
	return r;
}

static int
place(const struct ngff_image *m, const struct ngff_level *l, struct array_meta *a)
{
	for (unsigned d = 0; d < a->rank; d++) {
		const struct ngff_axis *x = &m->axis[d];
		struct dim *to = &a->dim[d];
		if (!to->name && !(to->name = strdup(x->name)))
			return err_set(-ENOMEM, "no memory for a dimension");
		if (strcmp(to->name, x->name) != 0 || x->channel || !l->placed || l->scale[d] == 0)
			continue;
		if (x->unit && !(to->unit = strdup(x->unit)))
			return err_set(-ENOMEM, "no memory for a dimension");
		to->placed = true;
		to->origin = l->offset[d];
		to->step = l->scale[d];
		to->letter = x->letter;
	}
	return 0;
}

/* A path below the group of a node; NULL: it lies elsewhere. */
static const char *
below(const struct node *group, const char *path)
{
	size_t len = strlen(group->path);
	if (!len)
		return path;
	return !strncmp(group->path, path, len) && path[len] == '/' ? path + len + 1 : NULL;
}

int
ngff_apply(const struct dim_scope *s, const char *path, struct array_meta *a)
{
	for (unsigned i = s->depth; i-- > 0;) {
		const struct ngff *g = s->group[i]->group ? s->group[i]->group->ngff : NULL;
		const char *name = g ? below(s->group[i], path) : NULL;
		for (size_t k = 0; name && k < g->n; k++) {
			const struct ngff_image *m = &g->image[k];
			for (size_t l = 0; m->rank == a->rank && l < m->levels; l++)
				if (!strcmp(m->level[l].path, name))
					return place(m, &m->level[l], a);
		}
	}
	return 0;
}
