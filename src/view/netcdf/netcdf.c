/* VAR.nc, VAR.nc4, dataset.nc and dataset.nc4: netCDF files whose bytes are made when they are
 * read. */
#include "base/mem.h"
#include "view/netcdf/nc_plan.h"
#include "view/netcdf/netcdf.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

/* netcdf-c reads as much at a time as st_blksize says, which is this, or 8 KiB. */
enum { BLOCK = 64 << 10 };

/* Above that libhdf5 reads it in thousands of small pieces, which are worth to be had in pages. */
enum { DIRECT_HEADER = 64 << 10 };

/* A plan of so many variables takes megabytes, which the threads that make plans after one another
 * would each keep. */
enum { MANY = 4096 };

static int
add_zeros(struct layout *l, uint64_t at, uint64_t to)
{
	return at < to ? layout_add_zeros(l, to - at) : 0;
}

/* Nothing else needs it any more. A small one takes less as a copy. */
static int
add_header(struct layout *l, struct buf *header)
{
	enum { LARGE = 128 << 10 };
	int r = header->len < LARGE ? layout_add_text(l, buf_span(header))
				    : layout_take_text(l, header);
	buf_free(header);
	return r;
}

struct nc_axis_made {
	struct nc_axis axis;
	bool big;
};

static int
make_axis(void *arg, struct stream *elements, const struct array_want *want, struct buf *to)
{
	const struct nc_axis_made *x = arg;
	int r = buf_reserve(to, to->len + want->len);
	if (r < 0)
		return r;
	nc_axis_make(&x->axis, x->big, want->off, want->len, to->data + to->len);
	to->len += want->len;
	return 0;
}

static int
add_axis(const struct nc_axis *axis, bool big, uint64_t bytes, struct layout *l)
{
	static const struct made_ops places = {make_axis, free};
	struct nc_axis_made *x = malloc(sizeof *x);
	if (!x)
		return err_set(-ENOMEM, "no memory for a layout");
	*x = (struct nc_axis_made){*axis, big};
	return layout_add_made(l, &places, x, NULL, bytes);
}

/* Elements of variable i, as many as one record has or all. */
static int
add_variable(struct nc_plan *p, size_t i, struct layout *l)
{
	struct nc_source *s = &p->source[i];
	if (s->axis.is)
		return add_axis(&s->axis, p->file.format != NC_4, p->file.var[i].bytes, l);
	if (!s->variable)
		return layout_add_zeros(l, p->file.var[i].bytes);
	struct variable *v = variable_ref(s->variable);
	return layout_add_converted(l, v, &s->convert, p->file.var[i].bytes);
}

static int
add_all(struct nc_plan *p, struct layout *l)
{
	struct nc_file *f = &p->file;
	int r = add_header(l, &f->header);
	size_t i = 0;
	for (; i < f->nvars && r == 0 && !nc_is_record(f, &f->var[i]); i++) {
		r = add_zeros(l, l->size, f->var[i].begin);
		if (r == 0)
			r = add_variable(p, i, l);
	}
	if (i == f->nvars || !f->records)
		return r < 0 ? r : add_zeros(l, l->size, f->size);
	if (r == 0)
		r = add_zeros(l, l->size, f->record_start);
	layout_begin_records(l, f->records);
	for (; i < f->nvars && r == 0; i++) {
		r = add_variable(p, i, l);
		if (r == 0)
			r = add_zeros(l, f->var[i].bytes, nc_record_bytes(f, &f->var[i]));
	}
	return r;
}

static int
by_begin(const void *a, const void *b)
{
	const struct nc_var *x = *(const struct nc_var *const *)a,
			    *y = *(const struct nc_var *const *)b;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Of a netCDF-4 file, whose variables are in another order than their data. */
static int
add_all_nc4(struct nc_plan *p, struct layout *l)
{
	struct nc_file *f = &p->file;
	size_t n = 0;
	CLEAN(clean_free) const struct nc_var **order = calloc(f->nvars + 1, sizeof *order);
	if (!order)
		return err_set(-ENOMEM, "no memory for a layout");
	for (size_t i = 0; i < f->nvars; i++)
		if (f->var[i].bytes)
			order[n++] = &f->var[i];
	qsort(order, n, sizeof *order, by_begin);
	int r = add_header(l, &f->header);
	for (size_t i = 0; i < n && r == 0; i++) {
		r = add_zeros(l, l->size, order[i]->begin);
		if (r == 0)
			r = add_variable(p, (size_t)(order[i] - f->var), l);
	}
	return r < 0 ? r : add_zeros(l, l->size, f->size);
}

static int
lay_out(struct mount *m, const struct node *n, const struct nc_want *want, struct layout **ret)
{
	struct nc_plan p;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	int r = nc_plan_make(m, n, want, &p);
	if (r)
		return r;
	const bool classic = p.file.format != NC_4;
	const bool direct = classic || p.file.header.len <= DIRECT_HEADER;
	r = layout_new(p.version, &l);
	if (r == 0)
		r = classic ? add_all(&p, l) : add_all_nc4(&p, l);
	if (r == 0) {
		layout_end(l);
		l->block = BLOCK;
		l->classic = classic;
		l->direct = direct;
		*ret = MOVE(l);
	}
	const bool many = p.file.nvars >= MANY;
	nc_plan_free(&p);
	if (many)
		mem_trim_holes();
	return r;
}

static int
note_array(const struct model_child *c, void *arg)
{
	return c->kind == NODE_ARRAY;
}

/* A group with a variable in it. */
static bool
has_arrays(struct mount *m, const struct node *n)
{
	return n->kind == NODE_ARRAY || model_children(m->model, n->path, note_array, NULL) > 0;
}

/* The hook of one of the files. */
#define HOOK(name, ...)                                                                            \
	static const struct nc_want want_##name = {__VA_ARGS__};                                   \
	static int lay_out_##name(                                                                 \
		struct mount *m, const struct node *n, const char *path, struct layout **ret)      \
	{                                                                                          \
		return lay_out(m, n, &want_##name, ret);                                           \
	}

HOOK(nc, .of_group = false)
HOOK(nc_cdf5, .format = CDF_5)
HOOK(nc_rec, .records = true)
HOOK(dataset, .of_group = true)
HOOK(dataset_cdf5, .of_group = true, .format = CDF_5)
HOOK(dataset_rec, .of_group = true, .records = true)
HOOK(nc4, .format = NC_4)
HOOK(nc4_rec, .format = NC_4, .records = true)
HOOK(dataset_nc4, .of_group = true, .format = NC_4)
HOOK(dataset_nc4_rec, .of_group = true, .format = NC_4, .records = true)

const struct view_ops view_nc = {
	.suffix = ".nc",
	.data_only = true,
	.list = LIST_NC,
	.applies = nc_plan_fits,
	.netcdf = true,
	.lay_out = lay_out_nc,
};

const struct view_ops view_nc_cdf5 = {
	.suffix = ".cdf5.nc",
	.netcdf = true,
	.lay_out = lay_out_nc_cdf5,
};

const struct view_ops view_nc_rec = {
	.suffix = ".rec.nc",
	.netcdf = true,
	.lay_out = lay_out_nc_rec,
};

const struct view_ops view_dataset = {
	.suffix = "dataset.nc",
	.of_group = true,
	.list = LIST_DATASET,
	.applies = has_arrays,
	.netcdf = true,
	.lay_out = lay_out_dataset,
};

const struct view_ops view_dataset_cdf5 = {
	.suffix = "dataset.cdf5.nc",
	.of_group = true,
	.applies = has_arrays,
	.netcdf = true,
	.lay_out = lay_out_dataset_cdf5,
};

const struct view_ops view_dataset_rec = {
	.suffix = "dataset.rec.nc",
	.of_group = true,
	.applies = has_arrays,
	.netcdf = true,
	.lay_out = lay_out_dataset_rec,
};

const struct view_ops view_nc4 = {
	.suffix = ".nc4",
	.data_only = true,
	.list = LIST_NC4,
	.applies = nc_plan_fits_nc4,
	.netcdf = true,
	.lay_out = lay_out_nc4,
};

const struct view_ops view_nc4_rec = {
	.suffix = ".rec.nc4",
	.netcdf = true,
	.lay_out = lay_out_nc4_rec,
};

const struct view_ops view_dataset_nc4 = {
	.suffix = "dataset.nc4",
	.of_group = true,
	.list = LIST_NC4,
	.netcdf = true,
	.lay_out = lay_out_dataset_nc4,
};

const struct view_ops view_dataset_nc4_rec = {
	.suffix = "dataset.rec.nc4",
	.of_group = true,
	.netcdf = true,
	.lay_out = lay_out_dataset_nc4_rec,
};

const struct nc_want *
netcdf_want(const struct view_ops *v)
{
	static const struct {
		const struct view_ops *view;
		const struct nc_want *want;
	} table[] = {
		{&view_nc, &want_nc},
		{&view_nc_cdf5, &want_nc_cdf5},
		{&view_nc_rec, &want_nc_rec},
		{&view_dataset, &want_dataset},
		{&view_dataset_cdf5, &want_dataset_cdf5},
		{&view_dataset_rec, &want_dataset_rec},
		{&view_nc4, &want_nc4},
		{&view_nc4_rec, &want_nc4_rec},
		{&view_dataset_nc4, &want_dataset_nc4},
		{&view_dataset_nc4_rec, &want_dataset_nc4_rec},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].view == v)
			return table[i].want;
	return NULL;
}

const struct view_ops *
netcdf_new_view(void)
{
	return &view_dataset;
}
