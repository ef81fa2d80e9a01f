#include "view/netcdf/nc_axes.h"

#include "base/err.h"
#include "base/list.h"
#include "view/netcdf/nc_build.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool
nc_build_is_record(const struct nc_build *b, const struct nc_dim_use *u)
{
	return u == b->record || (b->want->format == NC_4 && b->record && !u->before &&
					 strcmp(u->name, b->record->name) == 0);
}

/* Has the store a variable for it? */
static bool
has_variable(const struct nc_build *b, const struct nc_dim_use *u)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct nc_candidate *c = &b->candidate[i];
		if (c->rank && c->use[0] == u && !strcmp(c->member->node->name, u->name))
			return true;
	}
	return false;
}

static int
add_one(struct nc_build *b, const struct nc_dim_use *u, const struct dim *d)
{
	for (size_t i = 0; i < b->nplaced; i++)
		if (b->placed[i].use == u)
			return 0;
	if (u->before || has_variable(b, u))
		return 0;
	return LIST_ADD(b->placed, b->nplaced, "a coordinate",
		(struct nc_placed){.use = u, .dim = d, .at = SIZE_MAX});
}

int
nc_axes_find(struct nc_build *b)
{
	int r = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct nc_candidate *c = &b->candidate[i];
		const struct array_meta *a = c->member->node->array;
		for (unsigned d = 0; d < a->rank && r == 0; d++)
			if (a->dim[d].placed)
				r = add_one(b, c->use[d], &a->dim[d]);
	}
	return r;
}

static bool
is_used(const struct nc_build *b, const struct nc_dim_use *u)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct nc_candidate *c = &b->candidate[i];
		for (unsigned d = 0; !c->out && d < c->rank; d++)
			if (c->use[d] == u)
				return true;
	}
	return false;
}

/* What has records is laid out behind all else; its places are not worth that. */
size_t
nc_axes_count(struct nc_build *b, size_t first)
{
	for (size_t i = 0; i < b->nplaced; i++) {
		struct nc_placed *p = &b->placed[i];
		bool in = is_used(b, p->use) && !nc_build_is_record(b, p->use);
		p->at = in ? first++ : SIZE_MAX;
	}
	return first;
}

static int
add_text(struct attrs *to, const char *name, const char *text)
{
	struct attr *a = &to->attr[to->count++];
	a->name = strdup(name);
	int r = a->name ? attr_set_text(a, text, strlen(text)) : -ENOMEM;
	return r < 0 ? err_set(-ENOMEM, "no memory for attribute '%s'", name) : 0;
}

struct nc_axis
nc_axis_of(const struct dim *d)
{
	return (struct nc_axis){d->placed, d->origin, d->step};
}

int
nc_axis_attrs(const struct dim *d, struct attrs *to)
{
	const char letter[] = {d->letter, 0};
	to->attr = calloc(2, sizeof *to->attr);
	int r = to->attr ? 0 : err_set(-ENOMEM, "no memory for attributes");
	if (r == 0 && d->unit)
		r = add_text(to, "units", d->unit);
	if (r == 0 && d->letter)
		r = add_text(to, "axis", letter);
	return r;
}

int
nc_axes_add(const struct nc_build *b, struct nc_plan *p)
{
	int r = 0;
	for (size_t i = 0; i < b->nplaced && r == 0; i++) {
		const struct nc_placed *x = &b->placed[i];
		if (x->at == SIZE_MAX)
			continue;
		struct nc_var *v = &p->file.var[x->at];
		v->type = NC_TYPE_DOUBLE;
		v->rank = 1;
		v->dim = calloc(1, sizeof *v->dim);
		if (!v->dim)
			return err_set(-ENOMEM, "no memory for a variable");
		v->dim[0] = x->use->dim;
		p->source[x->at].axis = nc_axis_of(x->dim);
		r = nc_axis_attrs(x->dim, &v->attrs);
	}
	return r;
}

void
nc_axis_make(const struct nc_axis *x, bool big, uint64_t off, size_t len, uint8_t *to)
{
	while (len) {
		double v = nc_axis_at(x, off / sizeof v);
		uint64_t bits;
		memcpy(&bits, &v, sizeof bits);
		bits = big ? htobe64(bits) : htole64(bits);
		size_t skip = off % sizeof bits,
		       n = sizeof bits - skip < len ? sizeof bits - skip : len;
		memcpy(to, (uint8_t *)&bits + skip, n);
		to += n;
		off += n;
		len -= n;
	}
}
