/* Coordinates in pictures: the words of a caption, and which way is north. */
#include "view/picture/picture.h"

#include "model/dims.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Of a dimension that nothing else is said of. */
static int
name_only(const struct array_meta *a, unsigned d, const char *name, struct axis *ret)
{
	*ret = (struct axis){.size = a->shape[d], .name = strdup(name)};
	return ret->name ? 0 : err_set(-ENOMEM, "no memory for a name");
}

int
picture_axes_new(const struct picture *p, struct picture_axes *ret)
{
	const struct array_meta *a = p->node->array;
	CLEAN(dim_names_freep) char **names = NULL;
	struct picture_axes k = {calloc(a->rank, sizeof *k.axis), a->rank};
	int r = k.axis ? dim_names(a, false, &names) : err_set(-ENOMEM, "no memory for a picture");
	for (unsigned d = 0; d < a->rank && r == 0; d++) {
		bool rows = p->kind == PICTURE_MAP && d == p->side[PICTURE_ROWS].dim;
		if (d < p->leading || rows || p->kind == PICTURE_CURVE)
			r = axis_new(p->mount, p->node, d, names[d], &k.axis[d]);
		else
			r = name_only(a, d, names[d], &k.axis[d]);
	}
	if (r < 0)
		picture_axes_free(&k);
	else
		*ret = k;
	return r;
}

void
picture_axes_free(struct picture_axes *k)
{
	for (unsigned d = 0; k->axis && d < k->rank; d++)
		axis_free(&k->axis[d]);
	free(k->axis);
	k->axis = NULL;
}

void
picture_axes_expect(const struct picture *p, const struct picture_axes *k)
{
	for (unsigned d = 0; d < k->rank; d++) {
		const struct axis *a = &k->axis[d];
		uint64_t index = d < p->leading ? p->index[d] : 0;
		if (a->coordinate && index < a->coordinate->array->chunk[0])
			array_expect(a->variable->array);
	}
}

/* Byte of the chunk where an element of a 1-D array is, and the chunk. */
static struct sieve
sieve_of(const struct array_meta *a, uint64_t index, size_t item, uint8_t *to)
{
	return (struct sieve){
		.chunk = index / a->chunk[0],
		.first = index % a->chunk[0] * item,
		.rows = 1,
		.columns = 1,
		.bytes = item,
		.to = to,
	};
}

int
picture_coordinate(
	const struct axis *a, uint64_t index, const struct array_want *want, struct buf *ret)
{
	ret->len = 0;
	if (!a->coordinate) {
		int r = a->place.is ? axis_place(a, index, ret) : 0;
		return r < 0 ? r : buf_terminate(ret);
	}
	const size_t item = a->cells.element;
	CLEAN(clean_free) uint8_t *element = malloc(item);
	int r = element ? buf_reserve(ret, a->width + 1)
			: err_set(-ENOMEM, "no memory for a picture");
	if (r == 0)
		r = variable_usable(a->variable);
	const struct sieve s = sieve_of(a->coordinate->array, index, item, element);
	if (r == 0)
		r = stream_sift(a->stream, want, &s, 1);
	if (r < 0)
		return err_add(r, "coordinate '%s'", a->coordinate->path);
	cells_native(&a->cells, element, 1);
	if (!a->missing.len || !cells_same(&a->cells, element, a->missing.data))
		r = cell_text(&a->cells.cell[0], element, (char *)ret->data, &ret->len);
	if (ret->len > 2 && memcmp(ret->data + ret->len - 2, ".0", 2) == 0)
		ret->len -= 2;
	return r < 0 ? r : buf_terminate(ret);
}

static bool
is_one_of(const char *text, const char *const *list)
{
	for (; text && *list; list++)
		if (strcasecmp(text, *list) == 0)
			return true;
	return false;
}

bool
picture_points_north(const struct axis *a)
{
	static const char *const standard[] = {
		"latitude", "grid_latitude", "projection_y_coordinate", NULL};
	static const char *const units[] = {"degrees_north", "degree_north", "degrees_N",
		"degree_N", "degreesN", "degreeN", NULL};
	static const char *const names[] = {"lat", "latitude", "rlat", NULL};
	static const char *const axes[] = {"Y", NULL};
	struct attrs as = {0};
	if (!a->coordinate || a->cells.n != 1 || a->cells.cell[0].is_time)
		return false;
	if (node_attrs(a->coordinate, &as) < 0)
		return false;
	bool north = is_one_of(attrs_text(&as, "standard_name"), standard) ||
		     is_one_of(attrs_text(&as, "units"), units) ||
		     is_one_of(attrs_text(&as, "axis"), axes) ||
		     is_one_of(a->coordinate->name, names);
	attrs_free(&as);
	return north;
}
