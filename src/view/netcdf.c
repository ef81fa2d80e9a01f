/* VAR.nc and dataset.nc: netCDF classic files whose bytes are made when they are read. */
#include "view/hash.h"
#include "view/nc_plan.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

/* netcdf-c reads as much at a time as st_blksize says, which is this, or 8 KiB. */
enum { BLOCK = 64 << 10 };

static int
measure(struct mount *m, const struct node *n, const struct nc_want *want, struct view_facts *ret)
{
	struct nc_plan p;
	int r = nc_plan_make(m, n, want, &p);
	if (r == -EFBIG) { /* opening it says so */
		*ret = (struct view_facts){
			.size = SIZE_OF_UNREADABLE,
			.version = hash_end(hash_text(HASH_START, err_text())),
		};
		return 0;
	}
	if (r)
		return r;
	*ret = (struct view_facts){.size = p.file.size, .version = p.version, .mtime = p.mtime};
	nc_plan_free(&p);
	return 0;
}

static int
add_zeros(struct layout *l, uint64_t at, uint64_t to)
{
	return at < to ? layout_add_zeros(l, to - at) : 0;
}

/* Elements of variable i, as many as one record has or all. */
static int
add_variable(struct nc_plan *p, size_t i, struct layout *l)
{
	struct nc_source *s = &p->source[i];
	if (!s->variable)
		return layout_add_zeros(l, p->file.var[i].bytes);
	struct variable *v = variable_ref(s->variable);
	return layout_add_recoded(l, v, &s->recode, p->file.var[i].bytes);
}

static int
add_all(struct nc_plan *p, struct layout *l)
{
	const struct nc_file *f = &p->file;
	int r = layout_add_text(l, buf_span(&f->header));
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
lay_out(struct mount *m, const struct node *n, const struct nc_want *want, struct layout **ret)
{
	struct nc_plan p;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	int r = nc_plan_make(m, n, want, &p);
	if (r == ZMAP_ABSENT)
		return err_add(-EIO, "there is no such file");
	if (r < 0)
		return r;
	r = layout_new(p.version, &l);
	if (r == 0)
		r = add_all(&p, l);
	if (r == 0) {
		l->block = BLOCK;
		*ret = MOVE(l);
	}
	nc_plan_free(&p);
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

/* The hooks of one of the files. */
#define HOOKS(name, ...)                                                                           \
	static const struct nc_want want_##name = {__VA_ARGS__};                                   \
	static int measure_##name(struct mount *m, const struct node *n, struct view_facts *ret)   \
	{                                                                                          \
		return measure(m, n, &want_##name, ret);                                           \
	}                                                                                          \
	static int lay_out_##name(struct mount *m, const struct node *n, struct layout **ret)      \
	{                                                                                          \
		return lay_out(m, n, &want_##name, ret);                                           \
	}

HOOKS(nc, .of_group = false)
HOOKS(nc_cdf5, .format = CDF_5)
HOOKS(nc_rec, .records = true)
HOOKS(dataset, .of_group = true)
HOOKS(dataset_cdf5, .of_group = true, .format = CDF_5)
HOOKS(dataset_rec, .of_group = true, .records = true)

const struct view_ops view_nc = {
	.suffix = ".nc",
	.data_only = true,
	.list = LIST_NC,
	.applies = nc_plan_fits,
	.netcdf = true,
	.measure = measure_nc,
	.lay_out = lay_out_nc,
};

const struct view_ops view_nc_cdf5 = {
	.suffix = ".cdf5.nc",
	.netcdf = true,
	.measure = measure_nc_cdf5,
	.lay_out = lay_out_nc_cdf5,
};

const struct view_ops view_nc_rec = {
	.suffix = ".rec.nc",
	.netcdf = true,
	.measure = measure_nc_rec,
	.lay_out = lay_out_nc_rec,
};

const struct view_ops view_dataset = {
	.suffix = "dataset.nc",
	.of_group = true,
	.list = LIST_DATASET,
	.applies = has_arrays,
	.netcdf = true,
	.measure = measure_dataset,
	.lay_out = lay_out_dataset,
};

const struct view_ops view_dataset_cdf5 = {
	.suffix = "dataset.cdf5.nc",
	.of_group = true,
	.applies = has_arrays,
	.netcdf = true,
	.measure = measure_dataset_cdf5,
	.lay_out = lay_out_dataset_cdf5,
};

const struct view_ops view_dataset_rec = {
	.suffix = "dataset.rec.nc",
	.of_group = true,
	.applies = has_arrays,
	.netcdf = true,
	.measure = measure_dataset_rec,
	.lay_out = lay_out_dataset_rec,
};
