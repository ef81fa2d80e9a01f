#include "view/netcdf/nc_build.h"

#include "base/check.h"
#include "base/hash.h"
#include "model/cf.h"
#include "model/dims.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

/* The most that CDF-2 holds in a variable that is not the last. */
static const uint64_t FIXED_MAX = UINT32_MAX - 3;

static unsigned
array_rank(const struct nc_candidate *c)
{
	return c->member->node->array->rank;
}

/* The dimension of length 0, if it is the only one and leads; *ret_more: there are such dimensions
 * elsewhere. */
static struct nc_dim_use *
empty_lead(const struct nc_candidate *c, bool *ret_more)
{
	struct nc_dim_use *lead = array_rank(c) && c->use[0]->size == 0 ? c->use[0] : NULL;
	*ret_more = false;
	for (unsigned i = lead != NULL; i < c->rank; i++)
		*ret_more |= c->use[i]->size == 0;
	return lead;
}

/* Has a variable the dimension elsewhere than in front? */
static bool
has_behind(const struct nc_candidate *c, const struct nc_dim_use *u)
{
	bool behind = false;
	for (unsigned i = 1; i < c->rank; i++)
		behind |= c->use[i] == u;
	return behind;
}

/* The dimension that a variable leads with, if it can have records of it; empty: only if that has
 * length 0. */
static struct nc_dim_use *
lead_of(const struct nc_candidate *c, bool empty)
{
	bool more;
	if (empty)
		return empty_lead(c, &more);
	return array_rank(c) ? c->use[0] : NULL;
}

/* Is x rather than y what a file has records of? How many variables lead with it counts last. */
static bool
suits_better(const struct nc_dim_use *x, size_t nx, const struct nc_dim_use *y, size_t ny)
{
	if (x->unlimited != y->unlimited)
		return x->unlimited;
	return x->time != y->time ? x->time > y->time : nx > ny;
}

/* Of the dimensions that variables lead with, the one that suits best; the file's own variable
 * decides where there is one. name NULL: any. */
static struct nc_dim_use *
suited(const struct nc_build *b, bool empty, const char *name)
{
	struct nc_dim_use *best = NULL;
	size_t most = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct nc_candidate *c = &b->candidate[i];
		struct nc_dim_use *u =
			c->out || (!b->want->of_group && !c->own) ? NULL : lead_of(c, empty);
		size_t n = 0;
		if (!u || u == best || (name && strcmp(u->name, name) != 0))
			continue;
		for (size_t k = i; k < b->n; k++)
			n += !b->candidate[k].out && lead_of(&b->candidate[k], empty) == u;
		if (!best || suits_better(u, n, best, most)) {
			most = n;
			best = u;
		}
	}
	return best;
}

static bool
any_large(const struct nc_build *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (!b->candidate[i].out && b->candidate[i].size > FIXED_MAX)
			return true;
	return false;
}

/* A dimension of length 0 is the record dimension to every reader: one is kept, where that is
 * possible. */
static void
choose_empty(struct nc_build *b)
{
	struct nc_dim_use *kept = b->record ? b->record : suited(b, true, NULL);
	if (!b->record && b->want->of_group && any_large(b))
		kept = NULL;
	for (size_t i = 0; i < b->n; i++) {
		struct nc_candidate *c = &b->candidate[i];
		bool more;
		struct nc_dim_use *lead = c->out ? NULL : empty_lead(c, &more);
		if (!c->out && (more || (lead && lead != kept)))
			nc_build_leave_out(b, c, "it has a dimension of length 0");
	}
	if (kept && kept->size == 0)
		b->record = kept;
}

/* What has the record dimension elsewhere than in front cannot be written down. */
static void
check_record(struct nc_build *b)
{
	for (size_t i = 0; b->record && i < b->n; i++) {
		struct nc_candidate *c = &b->candidate[i];
		if (!c->out && has_behind(c, b->record))
			nc_build_leave_out(b, c, "the record dimension is not its first");
	}
}

static uint64_t
size_in(const struct nc_candidate *c, enum cdf_format format)
{
	const struct dtype *t = &c->column->type;
	uint64_t wide = nc_type_size(nc_type_in_file(t, CDF_2));
	return c->size == UINT64_MAX ? c->size
				     : c->size / wide * nc_type_size(nc_type_in_file(t, format));
}

/* HDF5 knows no more dimensions, and refuses all of a file that has them. */
enum { HDF5_RANK_MAX = 32 };

static void
check_ranks(struct nc_build *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (!b->candidate[i].out && b->candidate[i].rank > HDF5_RANK_MAX)
			nc_build_leave_out(
				b, &b->candidate[i], "it has more than 32 dimensions in netCDF-4");
}

/* In a netCDF-4 file what grows lies in chunks of whole rows. */
static void
check_chunks(struct nc_build *b)
{
	for (size_t i = 0; b->record && i < b->n; i++) {
		struct nc_candidate *c = &b->candidate[i];
		const uint64_t rows = c->rank ? c->use[0]->size : 0;
		bool grows = false;
		for (unsigned k = 0; k < c->rank; k++)
			grows |= nc_build_is_record(b, c->use[k]);
		if (grows && rows && !nc4_has_chunks(size_in(c, NC_4) / rows))
			nc_build_leave_out(b, c, "its rows are longer than 4 GiB");
	}
}

/* Which dimensions are time axes? */
static int
find_times(struct nc_build *b)
{
	int r = 0;
	for (size_t i = 0; i < b->n && r == 0; i++) {
		struct nc_candidate *c = &b->candidate[i];
		enum cf_time_axis is = CF_NO_TIME;
		if (cf_is_coordinate(c->member->node))
			r = cf_time_axis(c->member->node, &is);
		if (is > CF_NO_TIME && is > c->use[0]->time)
			c->use[0]->time = is;
	}
	return r;
}

static int
choose_record(struct nc_build *b)
{
	const char *unlimited = b->mount->options.unlimited;
	int r = b->want->records && b->want->of_group ? find_times(b) : 0;
	if (r < 0)
		return r;
	if (b->want->records || unlimited)
		b->record = suited(b, false, b->want->records ? NULL : unlimited);
	if (b->want->records && !b->record) {
		err_set(-ENOENT, "nothing has a dimension that could be that of records");
		return ZMAP_ABSENT;
	}
	if (b->want->format == NC_4) {
		check_ranks(b);
		check_chunks(b);
	} else {
		choose_empty(b);
		check_record(b);
	}
	return 0;
}

static bool
has_records(const struct nc_build *b, const struct nc_candidate *c)
{
	return b->record && c->rank && c->use[0] == b->record;
}

/* The file's own variable last, what has records behind what has none, the smallest first. */
static bool
goes_before(const struct nc_build *b, const struct nc_candidate *x, const struct nc_candidate *y)
{
	bool rx = has_records(b, x), ry = has_records(b, y);
	if (rx != ry)
		return ry;
	if (x->own != y->own)
		return y->own;
	return size_in(x, b->format) < size_in(y, b->format);
}

struct ordered {
	const struct nc_build *build;
	struct nc_candidate candidate;
	size_t at;
};

static int
in_order(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	bool before = goes_before(x->build, &x->candidate, &y->candidate);
	bool behind = goes_before(x->build, &y->candidate, &x->candidate);
	return before != behind ? behind - before : x->at < y->at ? -1 : 1;
}

static int
sort(struct nc_build *b)
{
	CLEAN(clean_free) struct ordered *all = calloc(b->n + 1, sizeof *all);
	if (!all)
		return err_set(-ENOMEM, "no memory for variables");
	for (size_t i = 0; i < b->n; i++)
		all[i] = (struct ordered){b, b->candidate[i], i};
	qsort(all, b->n, sizeof *all, in_order);
	for (size_t i = 0; i < b->n; i++)
		b->candidate[i] = all[i].candidate;
	return 0;
}

static enum cdf_format
asked_format(const struct mount *m, const struct nc_want *want)
{
	static const enum cdf_format by_option[] = {
		[NC_FORM_AUTO] = CDF_NONE,
		[NC_FORM_CDF1] = CDF_1,
		[NC_FORM_CDF2] = CDF_2,
		[NC_FORM_CDF5] = CDF_5,
		[NC_FORM_NC4] = NC_4,
	};
	return want->format ? want->format : by_option[m->options.nc];
}

/* Lays out as CDF-1 what fits it, though it was made for CDF-2: types are the same. */
static int
lay_out_smallest(struct nc_file *f)
{
	f->format = CDF_1;
	int r = nc_lay_out(f);
	if (r != -EFBIG)
		return r;
	f->format = CDF_2;
	return nc_lay_out(f);
}

static int
make(struct nc_build *b, enum cdf_format format, struct nc_plan *ret)
{
	b->format = format;
	/* Groups keep the order in which the store has what is in them. */
	int r = format == NC_4 && b->want->of_group ? 0 : sort(b);
	if (r == 0)
		r = nc_build_file(b, format ? format : CDF_2, ret);
	if (r < 0)
		return r;
	r = format == NC_4 ? nc4_lay_out(&ret->file)
	    : format       ? nc_lay_out(&ret->file)
			   : lay_out_smallest(&ret->file);
	if (r < 0)
		nc_plan_free(ret);
	return r;
}

/* Of those that only belong to the file's own variable, the largest. */
static struct nc_candidate *
largest_companion(const struct nc_build *b)
{
	struct nc_candidate *best = NULL;
	for (size_t i = 0; i < b->n; i++) {
		struct nc_candidate *c = &b->candidate[i];
		if (!c->own && !c->out && (!best || c->size >= best->size))
			best = c;
	}
	return best;
}

static int
make_some(struct nc_build *b, struct nc_plan *ret)
{
	enum cdf_format format = b->want->format;
	struct nc_candidate *c;
	int r = make(b, format, ret);
	if (b->want->of_group) {
		if (r == -EFBIG && !format && !b->record)
			r = make(b, CDF_5, ret);
		return r == -EFBIG && !format && b->record ? ZMAP_ABSENT : r;
	}
	while (r == -EFBIG && (c = largest_companion(b))) {
		CLEAN(clean_free) char *why = strdup(err_text());
		nc_build_leave_out(b, c, why ? why : "too large");
		r = make(b, format, ret);
	}
	return r;
}

/* Is there anything to show? */
static bool
worth_it(const struct nc_build *b)
{
	size_t own = 0, in = b->want->format == NC_4;
	for (size_t i = 0; i < b->n; i++) {
		own += b->candidate[i].own && !b->candidate[i].out;
		in += !b->candidate[i].out;
	}
	return b->want->of_group ? in : own;
}

static void
seal(struct nc_build *b, struct nc_plan *p)
{
	const struct buf *header = &p->file.header;
	uint64_t h = hash_block(HASH_START, header->data, header->len);
	for (size_t i = 0; i < p->file.nvars; i++) {
		const struct variable *v = p->source[i].variable;
		const struct nc_axis *x = &p->source[i].axis;
		if (x->is)
			h = hash_bytes(hash_bytes(h, &x->origin, sizeof x->origin), &x->step,
				sizeof x->step);
		if (v)
			h = hash_number(hash_text(h, v->node->path), v->version);
	}
	p->version = hash_end(h);
	p->members = b->members;
	b->members = (struct nc_members){0};
}

int
nc_plan_make(struct mount *m, const struct node *n, const struct nc_want *want, struct nc_plan *ret)
{
	struct nc_build b;
	struct nc_plan p = {0};
	struct nc_want asked = *want;
	asked.format = asked_format(m, want);
	int r = nc_build_start(m, n, &asked, &b);
	if (r < 0)
		return r;
	r = choose_record(&b);
	if (r == 0 && !worth_it(&b)) {
		err_set(-ENOENT, "netCDF cannot show it");
		r = ZMAP_ABSENT;
	}
	if (r == 0)
		r = make_some(&b, &p);
	if (r == 0) {
		seal(&b, &p);
		*ret = p;
	}
	nc_build_end(&b);
	return r;
}

/* Its bytes for one index of the leading dimension; UINT64_MAX: more than can be. */
static uint64_t
row_of(const struct array_meta *a, const struct nc_var_source *c)
{
	uint64_t n = nc_type_size(nc_type_in_file(&c->type, NC_4));
	bool over = false;
	for (unsigned i = 1; i < a->rank; i++)
		over |= mul_over(n, a->shape[i], &n);
	for (unsigned i = 0; i < c->nmore; i++)
		over |= mul_over(n, c->more[i].size, &n);
	return over ? UINT64_MAX : n;
}

/* Is there a column that choose_record leaves in a netCDF-4 file? */
static bool
any_fits_nc4(const struct mount *m, const struct array_meta *a, const struct nc_columns *cs)
{
	const char *unlimited = m->options.unlimited;
	char room[DIM_NAME_ROOM];
	const bool grows = unlimited && a->rank && a->shape[0] &&
			   strcmp(dim_name(&a->dim[0], room), unlimited) == 0;
	bool any = false;
	for (size_t i = 0; i < cs->n; i++)
		any |= a->rank + cs->of[i].nmore <= HDF5_RANK_MAX &&
		       (!grows || nc4_has_chunks(row_of(a, &cs->of[i])));
	return any;
}

static bool
fits(struct mount *m, const struct node *n, bool nc4)
{
	struct nc_columns cs = {0};
	struct variable *v = NULL;
	if (n->error || !n->array)
		return false;
	bool vlen =
		n->array->dtype.kind == DTYPE_VLEN_TEXT || n->array->dtype.kind == DTYPE_VLEN_BYTES;
	if (variable_get_closed(m, n, 0, &v) < 0)
		return false;
	variable_unref(v);
	bool good = nc_columns_make(n->array, vlen, &cs) == 0 &&
		    (!nc4 || any_fits_nc4(m, n->array, &cs));
	nc_columns_free(&cs);
	return good;
}

bool
nc_plan_fits(struct mount *m, const struct node *n)
{
	const bool nc4 = m->options.nc == NC_FORM_NC4;
	uint64_t longest = m->options.nc == NC_FORM_CDF5 ? INT64_MAX : INT32_MAX;
	for (unsigned i = 0; !nc4 && n->array && i < n->array->rank; i++)
		if (n->array->shape[i] > longest || (i && !n->array->shape[i]))
			return false;
	return fits(m, n, nc4);
}

bool
nc_plan_fits_nc4(struct mount *m, const struct node *n)
{
	return fits(m, n, true);
}
