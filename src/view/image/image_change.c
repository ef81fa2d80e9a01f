#include "view/image/image_change.h"

#include "base/err.h"
#include "base/list.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void
change_free(struct change *c)
{
	free(c->var);
	free(c->attr);
	free(c->grown);
	free(c->renamed);
	free(c->gone);
	*c = (struct change){0};
}

size_t
change_find(const struct nc_file *f, const char *name)
{
	for (size_t i = 0; i < f->nvars; i++)
		if (strcmp(f->var[i].name, name) == 0)
			return i;
	return CHANGE_NONE;
}

static bool
same_number(struct attr_number a, struct attr_number b)
{
	if (a.real && b.real)
		return a.d == b.d || (isnan(a.d) && isnan(b.d));
	if (!a.real && !b.real)
		return a.above == b.above && (a.above ? a.u == b.u : a.i == b.i);
	const struct attr_number *real = a.real ? &a : &b, *whole = a.real ? &b : &a;
	double d = whole->above ? (double)whole->u : (double)whole->i;
	return d == real->d;
}

/* A list of strings is in a file that has none what a user reads of it. */
static bool
same_text(const struct attr *a, const struct attr *b)
{
	CLEAN(clean_free) char *one = attr_text(a);
	CLEAN(clean_free) char *two = attr_text(b);
	return one && two && strcmp(one, two) == 0;
}

bool
change_same_attr(const struct attr *a, const struct attr *b, bool free_types)
{
	if (a->type == NC_TYPE_STRING || b->type == NC_TYPE_STRING)
		return same_text(a, b);
	if (a->count != b->count)
		return false;
	if (a->type == b->type)
		return memcmp(a->data, b->data, a->count * nc_type_size(a->type)) == 0;
	bool same = free_types && attr_is_number(a) && attr_is_number(b);
	for (size_t i = 0; i < a->count && same; i++)
		same = same_number(attr_number(a, i), attr_number(b, i));
	return same;
}

static int
add_attr(struct change *c, size_t var, const struct attr *from, const struct attr *to)
{
	return LIST_ADD(c->attr, c->nattrs, "changes",
		(struct change_attr){
			.var = var, .name = to ? to->name : from->name, .to = to, .from = from});
}

/* keep: what `now` lacks is not deleted. other: the same numbers may be of another type. */
static int
compare_attrs(struct change *c, size_t var, const struct attrs *was, const struct attrs *now,
	bool keep, bool other)
{
	other |= c->was &&
		 nc_has_all_types(c->was->file.format) != nc_has_all_types(c->now->file.format);
	int r = 0;
	for (size_t i = 0; was && !keep && i < was->count && r == 0; i++)
		if (!attrs_find(now, was->attr[i].name))
			r = add_attr(c, var, &was->attr[i], NULL);
	for (size_t i = 0; i < now->count && r == 0; i++) {
		const struct attr *a = was ? attrs_find(was, now->attr[i].name) : NULL;
		if (!a || !change_same_attr(a, &now->attr[i], other))
			r = add_attr(c, var, a, &now->attr[i]);
	}
	return r;
}

static bool
has_dim(const struct nc_file *f, const char *name)
{
	bool has = false;
	for (unsigned i = 0; i < f->ndims; i++)
		has |= strcmp(f->dim[i].name, name) == 0;
	return has;
}

/* Can it be that with another name? Then nothing has the old one any more, and nothing had the new
 * one. */
static bool
may_rename(const struct nc_file *was, const struct nc_dim *a, const struct nc_file *now,
	const struct nc_dim *b)
{
	return a->size == b->size && !has_dim(now, a->name) && !has_dim(was, b->name);
}

static int
rename_dim(struct change *c, unsigned dim, const struct nc_var *was, const struct nc_dim *now)
{
	const struct nc_file *f = &c->was->file;
	bool one = !c->rewritten && may_rename(f, &f->dim[dim], &c->now->file, now);
	for (unsigned i = 0; i < f->ndims; i++)
		one &= !c->renamed[i] || (i == dim) == (strcmp(c->renamed[i], now->name) == 0);
	if (!one)
		return err_set(-EINVAL, "dimension '%s' of variable '%s' cannot become '%s'",
			f->dim[dim].name, was->name, now->name);
	c->renamed[dim] = now->name;
	return 0;
}

/* The dimension k of a variable that both have. */
static int
compare_dim(struct change *c, const struct nc_var *was, const struct nc_var *now, unsigned k)
{
	const struct nc_dim *a = &c->was->file.dim[was->dim[k]];
	const struct nc_dim *b = &c->now->file.dim[now->dim[k]];
	if (strcmp(a->name, b->name) != 0 && !c->in_place)
		return rename_dim(c, was->dim[k], was, b);
	if (strcmp(a->name, b->name) != 0)
		c->renamed[was->dim[k]] = b->name;
	if (b->size < a->size)
		return err_set(-EINVAL, "dimension '%s' has %llu elements, more than %llu", a->name,
			(unsigned long long)a->size, (unsigned long long)b->size);
	if (b->size > a->size && k)
		return err_set(-EINVAL,
			"dimension '%s' of variable '%s' is not the first: it cannot grow", a->name,
			was->name);
	if (b->size > a->size)
		c->grown[was->dim[k]] = b->size;
	return 0;
}

bool
change_renames(const struct change *c, size_t var)
{
	return c->var[var] != CHANGE_NONE &&
	       strcmp(c->was->file.var[c->var[var]].name, c->now->file.var[var].name) != 0;
}

uint64_t
change_grown(const struct change *c, size_t var)
{
	const size_t at = c->var[var];
	const struct nc_var *was = at == CHANGE_NONE ? NULL : &c->was->file.var[at];
	return was && was->rank ? c->grown[was->dim[0]] : 0;
}

/* How many dimensions characters have without those of texts of one byte, which a file need not
 * have (str1 here, string1 where xarray wrote it): its elements are the same. */
static unsigned
rank_of_chars(const struct nc_file *f, const struct nc_var *v)
{
	unsigned rank = v->rank;
	for (; v->type == NC_TYPE_CHAR && rank; rank--) {
		const struct nc_dim *last = &f->dim[v->dim[rank - 1]];
		if (last->size != 1 || strncmp(last->name, "str", 3) != 0)
			break;
	}
	return rank;
}

static int
compare_dims(struct change *c, const struct nc_var *was, const struct nc_var *now)
{
	unsigned rank = was->rank;
	if (now->rank != was->rank) {
		rank = rank_of_chars(&c->was->file, was);
		if (rank_of_chars(&c->now->file, now) != rank)
			return err_set(-EINVAL, "variable '%s' has %u dimensions, not %u",
				now->name, was->rank, now->rank);
	}
	int r = 0;
	for (unsigned k = 0; k < rank && r == 0; k++)
		r = compare_dim(c, was, now, k);
	return r;
}

static size_t
find_was(const struct change *c, size_t i)
{
	if (c->in_place)
		return i < c->was->file.nvars ? i : CHANGE_NONE;
	return c->was ? change_find(&c->was->file, c->now->file.var[i].name) : CHANGE_NONE;
}

static int
compare_var(struct change *c, size_t i, bool keep)
{
	const struct nc_var *now = &c->now->file.var[i];
	const size_t at = find_was(c, i);
	c->var[i] = at;
	if (at == CHANGE_NONE)
		return compare_attrs(c, i, NULL, &now->attrs, keep, false);
	const struct nc_var *was = &c->was->file.var[at];
	/* Doubles may be what a program has all coordinates in: binding says whether the store's
	 * numbers come from them. */
	if (now->type != was->type && now->type != NC_TYPE_DOUBLE &&
		c->was->file.format == c->now->file.format)
		return err_set(
			-EINVAL, "variable '%s' cannot become one of another type", now->name);
	int r = compare_dims(c, was, now);
	bool other = now->type != was->type;
	return r < 0 ? r : compare_attrs(c, i, &was->attrs, &now->attrs, keep, other);
}

/* Dimensions of a file that is edited keep their numbers and sizes, but for how many records there
 * are. */
static bool
are_edited_dims(const struct nc_file *was, const struct nc_file *now)
{
	bool same = was->record == now->record && was->ndims <= now->ndims;
	for (unsigned i = 0; same && i < was->ndims; i++)
		same = was->dim[i].size == now->dim[i].size ||
		       (i == was->record && was->dim[i].size < now->dim[i].size);
	return same;
}

static bool
is_edited_var(const struct nc_var *was, const struct nc_var *now)
{
	return was->type == now->type && was->rank == now->rank && was->begin <= now->begin &&
	       (!was->rank || !memcmp(was->dim, now->dim, was->rank * sizeof *was->dim));
}

/* Is it the same file with other names and more variables? netCDF libraries change it where it
 * lies: what is there keeps its number, and moves only for what comes before it to grow. Those that
 * write a file anew begin it right behind its header, where no file of the mount has data. */
static bool
is_edited(const struct nc_file *was, const struct nc_file *now)
{
	bool is =
		was->format == now->format && was->nvars <= now->nvars && are_edited_dims(was, now);
	for (size_t i = 0; is && i < was->nvars; i++)
		is = is_edited_var(&was->var[i], &now->var[i]);
	return is;
}

static void
find_gone(struct change *c)
{
	const size_t n = c->was ? c->was->file.nvars : 0;
	for (size_t i = 0; i < n; i++)
		c->gone[i] = true;
	c->missing = n;
	for (size_t i = 0; n && i < c->now->file.nvars; i++)
		if (c->var[i] != CHANGE_NONE && c->gone[c->var[i]]) {
			c->gone[c->var[i]] = false;
			c->missing--;
		}
}

int
change_make(const struct image_form *was, const struct image_form *now, unsigned how, size_t own,
	struct change *ret)
{
	const bool keep = how & CHANGE_KEEP;
	struct change c = {.was = was,
		.now = now,
		.rewritten = how & CHANGE_REWRITTEN,
		.in_place = was && !(how & (CHANGE_REWRITTEN | CHANGE_BY_NAME)) &&
			    is_edited(&was->file, &now->file)};
	c.var = calloc(now->file.nvars + 1, sizeof *c.var);
	c.grown = was ? calloc(was->file.ndims + 1, sizeof *c.grown) : NULL;
	c.renamed = was ? calloc(was->file.ndims + 1, sizeof *c.renamed) : NULL;
	c.gone = was ? calloc(was->file.nvars + 1, sizeof *c.gone) : NULL;
	int r = c.var && ((c.grown && c.renamed && c.gone) || !was)
			? 0
			: err_set(-ENOMEM, "no memory for changes");
	if (r == 0)
		r = compare_attrs(&c, CHANGE_NONE, was ? &was->file.attrs : NULL, &now->file.attrs,
			keep, false);
	for (size_t i = 0; i < now->file.nvars && r == 0; i++) {
		bool mine = was && own != CHANGE_NONE &&
			    strcmp(was->file.var[own].name, now->file.var[i].name) == 0;
		r = compare_var(&c, i, keep && !mine);
	}
	if (r < 0) {
		change_free(&c);
		return r;
	}
	find_gone(&c);
	*ret = c;
	return 0;
}

bool
change_renames_dims(const struct change *c)
{
	bool any = false;
	for (unsigned i = 0; c->was && i < c->was->file.ndims; i++)
		any |= c->renamed[i] != NULL;
	return any;
}

bool
change_renames_vars(const struct change *c)
{
	bool any = false;
	for (size_t i = 0; i < c->now->file.nvars; i++)
		any |= change_renames(c, i);
	return any;
}

bool
change_of_metadata(const struct change *c)
{
	bool any = c->nattrs != 0 || change_renames_dims(c) || change_renames_vars(c);
	for (size_t i = 0; i < c->now->file.nvars; i++)
		any |= c->var[i] == CHANGE_NONE;
	for (unsigned i = 0; c->was && i < c->was->file.ndims; i++)
		any |= c->grown[i] != 0;
	return any;
}
