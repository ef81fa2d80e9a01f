#include "model/dtype.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/err.h"
#include "base/swap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
dtype_free(struct dtype *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nfields; i++) {
		free(d->field[i].name);
		dtype_free(&d->field[i].type);
	}
	free(d->field);
	*d = (struct dtype){0};
}

int
dtype_copy(const struct dtype *d, struct dtype *ret)
{
	struct dtype copy = *d;
	copy.nfields = 0;
	copy.field = d->nfields ? calloc(d->nfields, sizeof *copy.field) : NULL;
	int r = d->nfields && !copy.field ? err_set(-ENOMEM, "no memory for a dtype") : 0;
	for (size_t i = 0; i < d->nfields && r == 0; i++) {
		struct dtype_field *f = &copy.field[copy.nfields++];
		*f = d->field[i];
		f->type = (struct dtype){0};
		f->name = strdup(d->field[i].name);
		r = f->name ? dtype_copy(&d->field[i].type, &f->type)
			    : err_set(-ENOMEM, "no memory for a dtype");
	}
	if (r < 0)
		dtype_free(&copy);
	else
		*ret = copy;
	return r;
}

int
dtype_place_field(struct dtype *d, struct dtype_field *f)
{
	uint64_t bytes, end;
	if (mul_over(f->type.size, f->count, &bytes) || add_over(d->size, bytes, &end) ||
		end > DTYPE_SIZE_MAX)
		return err_set(-EINVAL, "elements of a structured dtype are too large");
	f->offset = d->size;
	d->size = (uint32_t)end;
	return 0;
}

void
dtype_set_order(struct dtype *d, bool big)
{
	d->big = dtype_swap_unit(d) > 1 && big;
	for (size_t i = 0; i < d->nfields; i++)
		dtype_set_order(&d->field[i].type, big);
}

bool
dtype_has_order(const struct dtype *d)
{
	bool any = dtype_swap_unit(d) > 1;
	for (size_t i = 0; i < d->nfields && !any; i++)
		any = dtype_has_order(&d->field[i].type);
	return any;
}

static int add_text(const struct dtype *, struct buf *);

/* A field's name as Python shows it. */
static int
add_name(const char *name, struct buf *ret)
{
	int r = buf_add(ret, "('", 2);
	for (; *name && r == 0; name++) {
		if (*name == '\'' || *name == '\\')
			r = buf_add(ret, "\\", 1);
		if (r == 0)
			r = buf_add(ret, name, 1);
	}
	return r < 0 ? r : buf_add(ret, "', ", 3);
}

static int
add_field(const struct dtype_field *f, struct buf *ret)
{
	int r = add_name(f->name, ret);
	if (r == 0 && f->type.kind != DTYPE_STRUCT)
		r = buf_add(ret, "'", 1);
	if (r == 0)
		r = add_text(&f->type, ret);
	if (r == 0 && f->type.kind != DTYPE_STRUCT)
		r = buf_add(ret, "'", 1);
	for (unsigned i = 0; i < f->rank && r == 0; i++)
		r = buf_addf(ret, "%s%llu", i ? ", " : ", (", (unsigned long long)f->shape[i]);
	if (f->rank && r == 0)
		r = f->rank == 1 ? buf_add(ret, ",)", 2) : buf_add(ret, ")", 1);
	return r < 0 ? r : buf_add(ret, ")", 1);
}

static int
add_fields(const struct dtype *d, struct buf *ret)
{
	int r = buf_add(ret, "[", 1);
	for (size_t i = 0; i < d->nfields && r == 0; i++) {
		if (i)
			r = buf_add(ret, ", ", 2);
		if (r == 0)
			r = add_field(&d->field[i], ret);
	}
	return r < 0 ? r : buf_add(ret, "]", 1);
}

const char *
dtype_unit_name(enum time_unit unit)
{
	static const char *const name[] = {
		[TIME_GENERIC] = "generic",
		[TIME_Y] = "Y",
		[TIME_M] = "M",
		[TIME_W] = "W",
		[TIME_D] = "D",
		[TIME_H] = "h",
		[TIME_MIN] = "m",
		[TIME_S] = "s",
		[TIME_MS] = "ms",
		[TIME_US] = "us",
		[TIME_NS] = "ns",
		[TIME_PS] = "ps",
		[TIME_FS] = "fs",
		[TIME_AS] = "as",
	};
	return name[unit];
}

static int
add_time(const struct dtype *d, char letter, struct buf *ret)
{
	const char *name = dtype_unit_name(d->unit);
	char order = d->big ? '>' : '<';
	if (d->unit == TIME_GENERIC)
		return buf_addf(ret, "%c%c8", order, letter);
	if (d->unit_count == 1)
		return buf_addf(ret, "%c%c8[%s]", order, letter, name);
	return buf_addf(ret, "%c%c8[%u%s]", order, letter, d->unit_count, name);
}

static int
add_text(const struct dtype *d, struct buf *ret)
{
	static const char letter[] = {
		[DTYPE_BOOL] = 'b',
		[DTYPE_INT] = 'i',
		[DTYPE_UINT] = 'u',
		[DTYPE_FLOAT] = 'f',
		[DTYPE_COMPLEX] = 'c',
		[DTYPE_BYTES] = 'S',
		[DTYPE_UNICODE] = 'U',
		[DTYPE_RAW] = 'V',
	};
	switch (d->kind) {
	case DTYPE_STRUCT: return add_fields(d, ret);
	case DTYPE_DATETIME: return add_time(d, 'M', ret);
	case DTYPE_TIMEDELTA: return add_time(d, 'm', ret);
	case DTYPE_VLEN_TEXT:
	case DTYPE_VLEN_BYTES:
	case DTYPE_OBJECT: return buf_add(ret, "|O", 2);
	default: break;
	}
	char order = dtype_swap_unit(d) == 1 ? '|' : d->big ? '>' : '<';
	return buf_addf(ret, "%c%c%u", order, letter[d->kind],
		d->kind == DTYPE_UNICODE ? d->size / 4 : d->size);
}

char *
dtype_text(const struct dtype *d)
{
	CLEAN(buf_free) struct buf text = {0};
	if (add_text(d, &text) < 0)
		return NULL;
	return strndup((char *)text.data, text.len);
}

unsigned
dtype_swap_unit(const struct dtype *d)
{
	switch (d->kind) {
	case DTYPE_INT:
	case DTYPE_UINT:
	case DTYPE_FLOAT:
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA: return d->size;
	case DTYPE_COMPLEX: return d->size / 2;
	case DTYPE_UNICODE: return 4;
	default: return 1;
	}
}

void
dtype_swap(const struct dtype *d, void *data, uint64_t n)
{
	const unsigned unit = dtype_swap_unit(d);
	if (unit > 1) {
		swap_run(unit, data, data, n * (d->size / unit));
		return;
	}
	for (size_t at = 0; at < d->nfields; at++) {
		const struct dtype_field *f = &d->field[at];
		const uint64_t some = dtype_has_order(&f->type) ? n : 0;
		for (uint64_t i = 0; i < some; i++)
			dtype_swap(&f->type, (uint8_t *)data + i * d->size + f->offset, f->count);
	}
}
