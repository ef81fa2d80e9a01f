/* Dimensions of a netCDF file: which ones there are, and what they are called. */
#include "view/netcdf/nc_build.h"

#include "base/err.h"
#include "model/cf.h"
#include "view/netcdf/nc_names.h"
#include "view/netcdf/nc_tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
by_what_it_is(const void *a, const void *b)
{
	const struct nc_dim_use *x = a, *y = b;
	int c = (x->group > y->group) - (x->group < y->group);
	if (c == 0)
		c = strcmp(x->name, y->name);
	if (c == 0)
		c = (x->size > y->size) - (x->size < y->size);
	if (c == 0)
		c = (x->other > y->other) - (x->other < y->other);
	return c ? c : (x->before > y->before) - (x->before < y->before);
}

struct nc_dim_use *
nc_build_known(struct nc_build *b, const struct nc_dim_use *like)
{
	return set_find(&b->uses, like, by_what_it_is);
}

struct nc_dim_use *
nc_build_use(struct nc_build *b, const struct nc_dim_use *wanted)
{
	struct nc_dim_use *found = nc_build_known(b, wanted);
	if (found)
		return found;
	size_t len = strlen(wanted->name) + 1;
	struct nc_dim_use *u = calloc(1, sizeof *u + len);
	if (!u)
		return NULL;
	*u = *wanted;
	u->name = memcpy((char *)(u + 1), wanted->name, len);
	if (set_add(&b->uses, u, by_what_it_is) < 0) {
		free(u);
		return NULL;
	}
	return u;
}

/* Dimensions of one name and size are one, but for those that NCZarr calls by different full names:
 * which of these is it? */
static unsigned
which(struct nc_build *b, struct nc_dim_use like)
{
	for (like.before = 0;; like.other++) {
		struct nc_dim_use *u = nc_build_known(b, &like);
		if (u && !u->fqn)
			u->fqn = like.fqn;
		if (!u || !like.fqn || strcmp(u->fqn, like.fqn) == 0)
			return like.other;
	}
}

struct nc_dim_use *
nc_build_next_use(struct nc_build *b, const struct nc_candidate *c, const struct nc_dim_use *like)
{
	struct nc_dim_use wanted = *like;
	if (b->members.ngroups) /* its group tells it apart */
		wanted.fqn = NULL;
	wanted.other = which(b, wanted);
	/* A file has a name only once in a variable, also where the store has it twice. */
	for (unsigned i = 0; i < c->rank; i++) {
		const struct nc_dim_use *u = c->use[i];
		wanted.before += u->size == wanted.size && u->group == wanted.group &&
				 u->other == wanted.other && strcmp(u->name, wanted.name) == 0;
	}
	return nc_build_use(b, &wanted);
}

/* Is it the size that keeps the name? What is declared, of the file's own variable, else what most
 * variables use, else the first. */
static bool
keeps_name(const struct nc_dim_use *u, const struct nc_dim_use *of)
{
	if (u->declared != of->declared)
		return u->declared;
	return u->first != of->first ? u->first : u->uses > of->uses;
}

/* "_4" of size 4 that another size has the name of, "_2" of the second of a name and size, "_4_2"
 * of both. */
static void
add_to_name(const struct nc_dim_use *u, char ret[64])
{
	unsigned turn = u->before + u->second;
	int n = u->keeps ? 0 : snprintf(ret, 32, "_%llu", (unsigned long long)u->size);
	ret[n] = 0;
	if (turn)
		snprintf(ret + n, 32, "_%u", turn + 1);
}

/* Names those that keep theirs (plain), or the others. */
static int
name_dims(struct nc_file *f, struct nc_dim_use *const *list, struct nc_taken *taken, bool plain)
{
	for (unsigned i = 0; i < f->ndims; i++) {
		const struct nc_dim_use *u = list[i];
		char more[64];
		if ((u->keeps && !u->before && !u->second) != plain)
			continue;
		add_to_name(u, more);
		CLEAN(clean_free) char *with = nc_name_with(u->name, more);
		f->dim[i].name = with ? nc_name_once(&taken[u->group], with) : NULL;
		if (!f->dim[i].name)
			return err_set(-ENOMEM, "no memory for a dimension");
	}
	return 0;
}

/* Uses of the candidates that are in, each once, in order of their first use. */
static int
list_uses(struct nc_build *b, struct nc_dim_use ***ret, size_t *ret_n)
{
	size_t most = 0, n = 0;
	for (size_t i = 0; i < b->n; i++)
		most += b->candidate[i].rank;
	struct nc_dim_use **list = calloc(most + b->ndeclared + 1, sizeof *list);
	if (!list)
		return err_set(-ENOMEM, "no memory for dimensions");
	for (; n < b->ndeclared; n++)
		list[n] = b->declared[n];
	for (size_t i = 0; i < b->n; i++)
		for (unsigned k = 0; k < b->candidate[i].rank; k++)
			b->candidate[i].use[k]->dim = NC_NO_DIM;
	for (size_t i = 0; i < n; i++)
		list[i]->dim = 0;
	for (size_t i = 0; i < b->n; i++)
		for (unsigned k = 0; !b->candidate[i].out && k < b->candidate[i].rank; k++) {
			struct nc_dim_use *u = b->candidate[i].use[k];
			if (u->dim == NC_NO_DIM)
				list[n++] = u;
			u->dim = 0;
		}
	*ret = list;
	*ret_n = n;
	return 0;
}

static int
by_right(const void *a, const void *b)
{
	const struct nc_dim_use *x = *(struct nc_dim_use *const *)a,
				*y = *(struct nc_dim_use *const *)b;
	int c = (x->group > y->group) - (x->group < y->group);
	if (c == 0)
		c = strcmp(x->name, y->name);
	if (c == 0)
		c = (x->before > y->before) - (x->before < y->before);
	return c ? c : keeps_name(x, y) ? -1 : keeps_name(y, x);
}

/* The variables that the file is for get their names first. */
static void
number_coordinates(struct nc_build *b)
{
	unsigned n = 0;
	for (int companion = 0; companion < 2; companion++)
		for (size_t i = 0; i < b->n; i++) {
			const struct nc_candidate *c = &b->candidate[i];
			bool is_companion = (size_t)(c->member - b->members.of) >= b->members.own;
			if (c->out || is_companion != companion ||
				!cf_is_coordinate(c->member->node))
				continue;
			n++;
			if (!c->use[0]->coordinate)
				c->use[0]->coordinate = n;
		}
}

/* Of those of one name, n from list[0] on, which is of the size that keeps it: which ones have that
 * size too, but are others? The one whose coordinate variable gets the name goes before the rest of
 * that size. */
static void
settle_name(struct nc_dim_use *const *list, size_t n)
{
	struct nc_dim_use *best = list[0];
	for (size_t i = 1; i < n; i++)
		if (list[i]->size == best->size && list[i]->coordinate &&
			(!best->coordinate || list[i]->coordinate < best->coordinate))
			best = list[i];
	for (size_t i = 0; i < n; i++) {
		list[i]->keeps = list[i]->size == best->size;
		list[i]->second = list[i]->keeps && list[i] != best;
	}
}

static bool
same_name(const struct nc_dim_use *a, const struct nc_dim_use *b)
{
	return a->group == b->group && strcmp(a->name, b->name) == 0;
}

/* Which one keeps a name that several have? What comes again in a variable goes with the first. */
static int
settle_names(struct nc_build *b, struct nc_dim_use *const *list, size_t n)
{
	CLEAN(clean_free) struct nc_dim_use **sorted = malloc((n + 1) * sizeof *sorted);
	size_t next;
	if (!sorted)
		return err_set(-ENOMEM, "no memory for dimensions");
	memcpy(sorted, list, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_right);
	for (size_t i = 0; i < n; i = next) {
		for (next = i + 1;
			next < n && same_name(sorted[i], sorted[next]) && !sorted[next]->before;)
			next++;
		if (!sorted[i]->before)
			settle_name(sorted + i, next - i);
	}
	for (size_t i = 0; i < n; i++) {
		struct nc_dim_use first = *list[i];
		first.before = 0;
		const struct nc_dim_use *is = nc_build_known(b, &first);
		list[i]->keeps = is->keeps;
		list[i]->second = is->second;
	}
	return 0;
}

int
nc_build_dims(struct nc_build *b, struct nc_file *f)
{
	CLEAN(clean_free) struct nc_dim_use **list = NULL;
	struct nc_taken *taken = NULL;
	size_t n = 0;
	int r = list_uses(b, &list, &n);
	if (r == 0)
		r = nc_tree_names(b, f, &taken);
	number_coordinates(b);
	if (r == 0)
		r = settle_names(b, list, n);
	if (r == 0 && !(f->dim = calloc(n + 1, sizeof *f->dim)))
		r = err_set(-ENOMEM, "no memory for dimensions");
	for (; r == 0 && f->ndims < n; f->ndims++) {
		struct nc_dim_use *u = list[f->ndims];
		u->dim = f->ndims;
		f->dim[u->dim].size = u->size;
		f->dim[u->dim].group = u->group;
		f->dim[u->dim].unlimited = nc_build_is_record(b, u);
		if (u == b->record)
			f->record = u->dim;
	}
	if (r == 0)
		r = name_dims(f, list, taken, true);
	if (r == 0)
		r = name_dims(f, list, taken, false);
	nc_tree_names_free(b, taken);
	return r;
}
