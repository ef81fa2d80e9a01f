#include "view/image/nc_parse.h"

#include "base/check.h"
#include "base/err.h"
#include "base/set.h"
#include "base/swap.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TAG_DIMENSION = 10,
	TAG_VARIABLE = 11,
	TAG_ATTRIBUTE = 12,
	MAGIC = 4,
	NAME_MOST = 1 << 16, /* bytes; netCDF allows 256 */
	RANK_MOST = 1024,    /* as netCDF */
	/* Bytes of the smallest dimension, attribute and variable: names, counts, types and
	 * sizes. */
	DIM_LEAST = 8,
	ATTR_LEAST = 12,
	VAR_LEAST = 24,
};

/* Bytes on their way out of a header. error: what stopped it, for good. */
struct header_reader {
	const uint8_t *at, *end;
	enum cdf_format format;
	int error;
};

/* The next n bytes; NULL: there are not so many. */
static const uint8_t *
take(struct header_reader *r, uint64_t n)
{
	if (r->error)
		return NULL;
	if (n > (uint64_t)(r->end - r->at)) {
		r->error = NC_PARSE_MORE;
		return NULL;
	}
	const uint8_t *p = r->at;
	r->at += n;
	return p;
}

static void
wrong(struct header_reader *r, const char *what)
{
	if (!r->error)
		r->error = err_set(-EINVAL, "not a netCDF header: %s", what);
}

static void
no_memory(struct header_reader *r)
{
	if (!r->error)
		r->error = err_set(-ENOMEM, "no memory for a netCDF header");
}

static uint32_t
take_u32(struct header_reader *r)
{
	const uint8_t *p = take(r, 4);
	uint32_t v = 0;
	if (p)
		memcpy(&v, p, 4);
	return be32toh(v);
}

static uint64_t
take_u64(struct header_reader *r)
{
	const uint8_t *p = take(r, 8);
	uint64_t v = 0;
	if (p)
		memcpy(&v, p, 8);
	return be64toh(v);
}

/* A number of things. */
static uint64_t
take_count(struct header_reader *r)
{
	return r->format == CDF_5 ? take_u64(r) : take_u32(r);
}

static const uint8_t *
take_padded(struct header_reader *r, uint64_t n)
{
	return n > INT64_MAX ? take(r, n) : take(r, round_up(n, 4));
}

/* libnetcdf fills up a name that gets shorter outside of define mode with NUL. */
static char *
take_name(struct header_reader *r)
{
	uint64_t len = take_count(r);
	if (!r->error && (!len || len > NAME_MOST))
		wrong(r, "a name of no length that may be");
	const uint8_t *p = take_padded(r, len);
	if (!p)
		return NULL;
	while (len > 1 && !p[len - 1])
		len--;
	if (memchr(p, 0, len)) {
		wrong(r, "a name with NUL in it");
		return NULL;
	}
	char *name = strndup((const char *)p, len);
	if (!name)
		no_memory(r);
	return name;
}

/* How many things of at least so many bytes follow. */
static size_t
take_list(struct header_reader *r, uint32_t tag, size_t least)
{
	uint32_t got = take_u32(r);
	uint64_t n = take_count(r);
	if (r->error)
		return 0;
	if (got != tag && (got || n))
		wrong(r, "a list of something else");
	else if (n > (uint64_t)(r->end - r->at) / least)
		r->error = NC_PARSE_MORE;
	return r->error ? 0 : (size_t)n;
}

static enum nc_type
take_type(struct header_reader *r)
{
	uint32_t t = take_u32(r);
	if (!r->error &&
		(t < NC_TYPE_BYTE || t > (r->format == CDF_5 ? NC_TYPE_UINT64 : NC_TYPE_DOUBLE)))
		wrong(r, "a type that the format does not have");
	return r->error ? NC_TYPE_NONE : (enum nc_type)t;
}

static void
native_order(uint8_t *p, size_t size, size_t n)
{
	if (size > 1 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		swap_run((unsigned)size, p, p, n);
}

static void
take_attr(struct header_reader *r, struct attr *a)
{
	uint64_t bytes = 0;
	a->name = take_name(r);
	a->type = take_type(r);
	uint64_t n = take_count(r);
	if (!r->error && mul_over(n, nc_type_size(a->type), &bytes))
		bytes = UINT64_MAX;
	const uint8_t *p = take_padded(r, bytes);
	if (!p)
		return;
	uint8_t *data = malloc(bytes + 1);
	if (!data) {
		no_memory(r);
		return;
	}
	memcpy(data, p, bytes);
	data[bytes] = 0;
	native_order(data, nc_type_size(a->type), n);
	a->count = n;
	a->data = data;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* A name that comes a second time in a list. */
static void
check_name(struct header_reader *r, struct set *names, char *name)
{
	if (r->error)
		return;
	if (set_find(names, name, by_name))
		wrong(r, "two things with one name");
	else if (set_add(names, name, by_name) < 0)
		no_memory(r);
}

static void
take_attrs(struct header_reader *r, struct attrs *to)
{
	struct set names = {0};
	size_t n = take_list(r, TAG_ATTRIBUTE, ATTR_LEAST);
	to->attr = r->error ? NULL : calloc(n + 1, sizeof *to->attr);
	if (!to->attr)
		no_memory(r);
	for (size_t i = 0; i < n && !r->error; i++) {
		take_attr(r, &to->attr[to->count++]);
		check_name(r, &names, to->attr[i].name);
	}
	set_free(&names, NULL);
}

static void
take_dims(struct header_reader *r, struct nc_file *f)
{
	struct set names = {0};
	size_t n = take_list(r, TAG_DIMENSION, DIM_LEAST);
	f->dim = r->error ? NULL : calloc(n + 1, sizeof *f->dim);
	if (!f->dim)
		no_memory(r);
	for (size_t i = 0; i < n && !r->error; i++) {
		struct nc_dim *d = &f->dim[f->ndims++];
		d->name = take_name(r);
		d->size = take_count(r);
		check_name(r, &names, d->name);
		if (!r->error && !d->size) {
			if (f->record != NC_NO_DIM)
				wrong(r, "two dimensions of records");
			f->record = (unsigned)i;
			d->unlimited = true;
		}
	}
	set_free(&names, NULL);
}

static void
take_rank(struct header_reader *r, const struct nc_file *f, struct nc_var *v)
{
	uint64_t rank = take_count(r);
	if (!r->error && rank > RANK_MOST)
		wrong(r, "a variable of too many dimensions");
	v->dim = r->error ? NULL : calloc(rank + 1, sizeof *v->dim);
	if (!v->dim)
		no_memory(r);
	while (!r->error && v->rank < rank) {
		uint64_t d = take_count(r);
		if (!r->error && d >= f->ndims)
			wrong(r, "a variable of a dimension that there is not");
		else if (!r->error && d == f->record && v->rank)
			wrong(r, "records along another dimension than the first");
		else
			v->dim[v->rank++] = (unsigned)d;
	}
}

static void
take_var(struct header_reader *r, const struct nc_file *f, struct nc_var *v)
{
	v->name = take_name(r);
	take_rank(r, f, v);
	if (!r->error)
		take_attrs(r, &v->attrs);
	v->type = take_type(r);
	take_count(r); /* of bytes: said wrongly by some, and known without it */
	v->begin = r->format == CDF_1 ? take_u32(r) : take_u64(r);
	v->bytes = nc_type_size(v->type);
	for (unsigned i = nc_is_record(f, v); i < v->rank && !r->error; i++)
		if (mul_over(v->bytes, f->dim[v->dim[i]].size, &v->bytes) ||
			v->bytes > INT64_MAX / 2)
			wrong(r, "a variable of more bytes than can be");
	if (!r->error && v->begin > INT64_MAX / 2)
		wrong(r, "a variable that lies too far behind");
}

static void
take_vars(struct header_reader *r, struct nc_file *f)
{
	struct set names = {0};
	size_t n = take_list(r, TAG_VARIABLE, VAR_LEAST);
	f->var = r->error ? NULL : calloc(n + 1, sizeof *f->var);
	if (!f->var)
		no_memory(r);
	for (size_t i = 0; i < n && !r->error; i++) {
		take_var(r, f, &f->var[f->nvars++]);
		check_name(r, &names, f->var[i].name);
	}
	set_free(&names, NULL);
}

static size_t
count_with_records(const struct nc_file *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->nvars; i++)
		n += nc_is_record(f, &f->var[i]);
	return n;
}

/* Where records begin and how long one is. */
static void
measure_records(struct header_reader *r, struct nc_file *f)
{
	const bool only = count_with_records(f) == 1;
	f->record_start = UINT64_MAX;
	for (size_t i = 0; i < f->nvars; i++) {
		const struct nc_var *v = &f->var[i];
		if (!nc_is_record(f, v))
			continue;
		f->record_start = min_u64(f->record_start, v->begin);
		if (add_over(f->record_size, only ? v->bytes : round_up(v->bytes, 4),
			    &f->record_size))
			wrong(r, "records of more bytes than can be");
	}
	if (!f->record_size)
		f->record_start = 0;
}

/* open: the header does not say how many records there are. */
static void
count_records(struct header_reader *r, struct nc_file *f, bool open, uint64_t file_size)
{
	uint64_t all;
	if (open)
		f->records = f->record_size && file_size > f->record_start
				     ? (file_size - f->record_start) / f->record_size
				     : 0;
	if (f->record == NC_NO_DIM)
		f->records = 0;
	else
		f->dim[f->record].size = f->records;
	for (size_t i = 0; i < f->nvars; i++) {
		const struct nc_var *v = &f->var[i];
		if (!nc_is_record(f, v))
			f->size = max_u64(f->size, v->begin + v->bytes);
		else if (f->records &&
			 (mul_over(f->record_size, f->records - 1, &all) || all > INT64_MAX / 2))
			wrong(r, "more records than can be");
		else if (f->records)
			f->size = max_u64(f->size, v->begin + all + v->bytes);
	}
}

static void
take_file(struct header_reader *r, struct nc_file *f, uint64_t file_size)
{
	const uint8_t *magic = take(r, MAGIC);
	if (magic && (memcmp(magic, "CDF", 3) != 0 ||
			     (magic[3] != CDF_1 && magic[3] != CDF_2 && magic[3] != CDF_5)))
		wrong(r, "another beginning");
	if (r->error)
		return;
	f->format = r->format = (enum cdf_format)magic[3];
	f->records = take_count(r);
	bool open = f->records == (f->format == CDF_5 ? UINT64_MAX : UINT32_MAX);
	if (!r->error)
		take_dims(r, f);
	if (!r->error)
		take_attrs(r, &f->attrs);
	if (!r->error)
		take_vars(r, f);
	if (!r->error)
		measure_records(r, f);
	if (!r->error)
		count_records(r, f, open, file_size);
}

int
nc_parse(struct span bytes, uint64_t file_size, struct nc_file *ret, size_t *ret_len)
{
	struct nc_file f = {.record = NC_NO_DIM};
	struct header_reader r = {.at = bytes.data, .end = bytes.data + bytes.len};
	take_file(&r, &f, file_size);
	if (r.error) {
		nc_file_free(&f);
		return r.error;
	}
	*ret = f;
	*ret_len = (size_t)(r.at - bytes.data);
	return 0;
}

/* Bytes [from, to) of the file, or of a record. */
struct header_stretch {
	const struct nc_var *var; /* NULL: all records */
	uint64_t from, to;
};

static int
by_place(const void *a, const void *b)
{
	const struct header_stretch *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int
check_stretches(struct header_stretch *s, size_t n, uint64_t from, uint64_t to)
{
	qsort(s, n, sizeof *s, by_place);
	for (size_t i = 0; i < n; i++) {
		const char *name = s[i].var ? s[i].var->name : "records";
		if (s[i].from < from)
			return err_set(-EINVAL, "'%s' begins at %llu, before %llu", name,
				(unsigned long long)s[i].from, (unsigned long long)from);
		if (s[i].to > to)
			return err_set(-EINVAL, "'%s' ends at %llu, behind %llu", name,
				(unsigned long long)s[i].to, (unsigned long long)to);
		from = s[i].to;
	}
	return 0;
}

int
nc_parse_places(const struct nc_file *f, uint64_t header, uint64_t file_size)
{
	CLEAN(clean_free) struct header_stretch *s = calloc(f->nvars + 2, sizeof *s);
	size_t n = 0;
	if (!s)
		return err_set(-ENOMEM, "no memory for %zu variables", f->nvars);
	for (size_t i = 0; i < f->nvars; i++)
		if (nc_is_record(f, &f->var[i]))
			s[n++] = (struct header_stretch){
				&f->var[i], f->var[i].begin, f->var[i].begin + f->var[i].bytes};
	int r = check_stretches(s, n, f->record_start, f->record_start + f->record_size);
	n = 0;
	/* What has records and has none yet lies nowhere. */
	uint64_t last = 0;
	for (size_t i = 0; i < f->nvars; i++)
		if (!nc_is_record(f, &f->var[i]))
			s[n++] = (struct header_stretch){
				&f->var[i], f->var[i].begin, f->var[i].begin + f->var[i].bytes};
		else
			last = max_u64(last, f->var[i].begin + f->var[i].bytes);
	if (f->record_size && f->records)
		s[n++] = (struct header_stretch){
			NULL, f->record_start, last + (f->records - 1) * f->record_size};
	return r < 0 ? r : check_stretches(s, n, header, file_size);
}
