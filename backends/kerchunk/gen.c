#include "backends/kerchunk/gen.h"

#include "backends/kerchunk/template.h"
#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	GEN_MAX = 10 * 1000 * 1000, /* references */
	STEPS = 100 * 1000,         /* expressions in all … */
	STEPS_EACH = 16,            /* … and more for each text that there is to render */
	VARIABLES = 16,
};

/* The values that a variable takes: a list of whole numbers, or start, start + step, … */
struct gen_range {
	const char *name;
	const struct json *list;
	int64_t start, step;
	uint64_t count;
};

/* The texts of one of gen's members. */
struct gen_form {
	const char *text;
	size_t len;
};

struct maker {
	struct kerchunk_table *table;
	struct kerchunk_names names;
	struct gen_range range[VARIABLES];
	struct kerchunk_var var[VARIABLES];
	size_t nvars;
	struct gen_form key, url, offset, length;
	struct buf rendered_key, rendered_url, number;
};

static void
maker_done(struct maker *m)
{
	buf_free(&m->rendered_key);
	buf_free(&m->rendered_url);
	buf_free(&m->number);
}

/* --- templates in URLs --- */

static int
resolve(void *arg, const char *url, struct buf *ret)
{
	if (!strstr(url, "{{"))
		return 1;
	return kerchunk_render(url, strlen(url), arg, ret);
}

static int
parse(struct span text, const char *what, enum json_type type, struct json **ret)
{
	CLEAN(json_freep) struct json *j = NULL;
	*ret = NULL;
	if (!text.len)
		return 0;
	int r = json_parse((const char *)text.data, text.len, &j);
	if (r < 0)
		return err_add(r, "'%s'", what);
	if (json_type(j) == JSON_TYPE_NULL)
		return 0;
	if (json_type(j) != type)
		return err_set(-EINVAL, "'%s' is %s", what, json_type_name(j));
	*ret = MOVE(j);
	return 0;
}

/* --- one member of gen --- */

static int
take_form(const struct json *g, const char *name, struct gen_form *ret)
{
	const struct json *j = json_get(g, name);
	ret->text = j ? json_text(j, &ret->len) : NULL;
	return ret->text || !j ? 0 : err_set(-EINVAL, "'gen': '%s' is %s", name, json_type_name(j));
}

static int
range_error(const char *name, const char *why)
{
	return err_set(-EINVAL, "'gen': dimension '%.60s': %s", name, why);
}

static int
range_number(const struct json *dict, const char *name, int64_t otherwise, int64_t *ret)
{
	const struct json *j = json_get(dict, name);
	*ret = otherwise;
	return j ? json_int(j, ret) : 0;
}

static int
take_range(const char *name, const struct json *j, struct gen_range *ret)
{
	int64_t stop;
	*ret = (struct gen_range){.name = name};
	if (json_type(j) == JSON_TYPE_LIST) {
		ret->list = j;
		ret->count = json_count(j);
		return 0;
	}
	if (json_type(j) != JSON_TYPE_DICT || !json_get(j, "stop"))
		return range_error(name, "neither a list nor a range with a 'stop'");
	if (range_number(j, "start", 0, &ret->start) < 0 || range_number(j, "stop", 0, &stop) < 0 ||
		range_number(j, "step", 1, &ret->step) < 0)
		return range_error(name, "not of whole numbers");
	if (!ret->step || ret->step == INT64_MIN)
		return range_error(name, "a step that leads nowhere");
	bool up = ret->step > 0;
	uint64_t from = (uint64_t)ret->start, to = (uint64_t)stop;
	if (up ? stop > ret->start : stop < ret->start)
		ret->count = ceil_div(
			up ? to - from : from - to, (uint64_t)(up ? ret->step : -ret->step));
	return 0;
}

static int
range_value(const struct gen_range *g, uint64_t i, int64_t *ret)
{
	if (g->list)
		return json_int(json_at(g->list, (size_t)i), ret) < 0
			       ? range_error(g->name, "not of whole numbers")
			       : 0;
	*ret = (int64_t)((uint64_t)g->start + i * (uint64_t)g->step); /* it lies before stop */
	return 0;
}

static int
take_dimensions(struct maker *m, const struct json *dict, uint64_t *ret_count)
{
	*ret_count = 1;
	m->nvars = 0;
	if (!dict || json_type(dict) != JSON_TYPE_DICT)
		return err_set(-EINVAL, "'gen': no 'dimensions'");
	for (void *i = json_first(dict); i; i = json_next(dict, i)) {
		if (m->nvars == VARIABLES)
			return err_set(-EINVAL, "'gen': more than %d dimensions", VARIABLES);
		struct gen_range *g = &m->range[m->nvars];
		int r = take_range(json_key(i), json_value(i), g);
		if (r < 0)
			return r;
		m->var[m->nvars++] =
			(struct kerchunk_var){.name = g->name, .name_len = strlen(g->name)};
		if (mul_over(*ret_count, g->count, ret_count) || *ret_count > GEN_MAX)
			return err_set(-EFBIG, "'gen': more than %d references", GEN_MAX);
	}
	return 0;
}

static int
render(struct maker *m, const struct gen_form *f, struct buf *ret)
{
	ret->len = 0;
	int r = kerchunk_render(f->text, f->len, &m->names, ret);
	if (r == 0 && buf_terminate(ret) < 0)
		r = err_set(-ENOMEM, "no memory for references");
	return r < 0 ? err_add(r, "'gen'") : 0;
}

static int
render_number(struct maker *m, const struct gen_form *f, uint64_t *ret)
{
	int r = render(m, f, &m->number);
	if (r < 0)
		return r;
	const char *text = (const char *)m->number.data;
	uint64_t n = 0;
	size_t len = strspn(text, "0123456789");
	bool over = !len || len != m->number.len;
	for (size_t i = 0; i < len && !over; i++)
		over = mul_over(n, 10, &n) || add_over(n, (uint64_t)(text[i] - '0'), &n);
	*ret = n;
	return over ? err_set(-EINVAL, "'gen': '%.60s' is no offset or length", text) : 0;
}

static int
make_one(struct maker *m)
{
	struct kerchunk_ref ref = {.kind = m->offset.text ? KERCHUNK_RANGE : KERCHUNK_WHOLE};
	uint64_t end;
	int r = render(m, &m->key, &m->rendered_key);
	if (r == 0)
		r = render(m, &m->url, &m->rendered_url);
	if (r == 0 && m->offset.text)
		r = render_number(m, &m->offset, &ref.off);
	if (r == 0 && m->offset.text)
		r = render_number(m, &m->length, &ref.len);
	if (r == 0 && m->offset.text && (add_over(ref.off, ref.len, &end) || end > INT64_MAX))
		r = err_set(-EINVAL, "'gen': a reference beyond all offsets");
	if (r < 0)
		return r;
	ref.url = (const char *)m->rendered_url.data;
	return kerchunk_table_add(m->table, (const char *)m->rendered_key.data, &ref, false);
}

static int
make_all(struct maker *m, uint64_t count)
{
	int r = kerchunk_table_expect(m->table, count);
	for (uint64_t i = 0; i < count && r == 0; i++) {
		uint64_t rest = i;
		for (size_t v = m->nvars; v-- && r == 0; rest /= m->range[v].count)
			r = range_value(&m->range[v], rest % m->range[v].count, &m->var[v].number);
		if (r == 0)
			r = make_one(m);
	}
	return r;
}

static int
make_member(struct maker *m, const struct json *g)
{
	uint64_t count = 0;
	if (json_type(g) != JSON_TYPE_DICT)
		return err_set(-EINVAL, "'gen' holds %s", json_type_name(g));
	int r = take_form(g, "key", &m->key);
	if (r == 0)
		r = take_form(g, "url", &m->url);
	if (r == 0)
		r = take_form(g, "offset", &m->offset);
	if (r == 0)
		r = take_form(g, "length", &m->length);
	if (r == 0 && (!m->key.text || !m->url.text || !m->offset.text != !m->length.text))
		r = err_set(-EINVAL, "'gen' needs key, url, and offset and length both or none");
	if (r == 0)
		r = take_dimensions(m, json_get(g, "dimensions"), &count);
	m->names.nvars = m->nvars;
	*m->names.steps += STEPS_EACH * count;
	return r < 0 ? r : make_all(m, count);
}

int
kerchunk_gen(struct span templates, struct span gen, struct kerchunk_table *table)
{
	CLEAN(json_freep) struct json *t = NULL, *g = NULL;
	CLEAN(maker_done) struct maker m = {.table = table};
	uint64_t steps = STEPS + STEPS_EACH * (uint64_t)kerchunk_table_count(table);
	int r = parse(templates, "templates", JSON_TYPE_DICT, &t);
	if (r == 0)
		r = parse(gen, "gen", JSON_TYPE_LIST, &g);
	if (r < 0)
		return r;
	m.names = (struct kerchunk_names){.templates = t, .var = m.var, .steps = &steps};
	if (t && json_count(t))
		r = kerchunk_table_rewrite(table, resolve, &m.names);
	for (size_t i = 0; g && i < json_count(g) && r == 0; i++)
		r = make_member(&m, json_at(g, i));
	return r;
}
