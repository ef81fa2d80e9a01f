#include "backends/kerchunk/template.h"

#include "base/check.h"
#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { DEPTH = 16, PARENTHESES = 32, ARGUMENTS = 8, SHOWN = 60 };

/* An expression as far as it is read. */
struct template_scan {
	const char *start, *at, *end;
	const struct kerchunk_names *names;
	unsigned nest;
};

struct template_value {
	bool is_text;
	int64_t number;
	struct buf text;
};

static void
value_done(struct template_value *v)
{
	buf_free(&v->text);
}

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for a template");
}

static int
refuse(const struct template_scan *s, const char *why)
{
	return err_set(-EINVAL, "template '{{%.*s': %s",
		(int)min_u64((uint64_t)(s->end - s->start), SHOWN), s->start, why);
}

static int
peek(struct template_scan *s)
{
	while (s->at < s->end && isspace((unsigned char)*s->at))
		s->at++;
	return s->at < s->end ? (unsigned char)*s->at : -1;
}

static bool
accept(struct template_scan *s, char c)
{
	if (peek(s) != c)
		return false;
	s->at++;
	return true;
}

static bool
in_name(int c)
{
	return isalnum(c) || c == '_';
}

/* A name is next. */
static size_t
take_name(struct template_scan *s, const char **ret)
{
	*ret = s->at;
	while (s->at < s->end && in_name((unsigned char)*s->at))
		s->at++;
	return (size_t)(s->at - *ret);
}

/* A text between quotes, without escapes. */
static int
take_text(struct template_scan *s, const char **ret, size_t *ret_len)
{
	const char *end = memchr(s->at + 1, *s->at, (size_t)(s->end - s->at - 1));
	if (!end)
		return refuse(s, "a text without an end");
	*ret = s->at + 1;
	*ret_len = (size_t)(end - *ret);
	if (memchr(*ret, '\\', *ret_len))
		return refuse(s, "a text with '\\' in it");
	s->at = end + 1;
	return 0;
}

/* --- names --- */

static const struct kerchunk_var *
find_var(const struct kerchunk_names *n, const char *name, size_t len)
{
	for (; n; n = n->outer)
		for (size_t i = 0; i < n->nvars; i++)
			if (n->var[i].name_len == len && !memcmp(n->var[i].name, name, len))
				return &n->var[i];
	return NULL;
}

static const char *
find_template(const struct kerchunk_names *n, const char *name, size_t len, size_t *ret_len)
{
	CLEAN(clean_free) char *key = strndup(name, len);
	const struct json *j = n->templates && key ? json_get(n->templates, key) : NULL;
	return j && json_type(j) == JSON_TYPE_TEXT ? json_text(j, ret_len) : NULL;
}

/* name='text' or name=number: one argument of a call. */
static int
take_argument(struct template_scan *s, struct kerchunk_var *ret)
{
	peek(s);
	ret->name_len = take_name(s, &ret->name);
	if (!ret->name_len || !accept(s, '='))
		return refuse(s, "an argument without a name");
	int c = peek(s);
	if (c == '\'' || c == '"')
		return take_text(s, &ret->text, &ret->len);
	const char *word;
	size_t len = take_name(s, &word);
	if (!len)
		return refuse(s, "an argument that is not understood");
	if (!isdigit((unsigned char)*word)) {
		const struct kerchunk_var *v = find_var(s->names, word, len);
		if (!v)
			return refuse(s, "an argument that nothing is known of");
		ret->text = v->text;
		ret->len = v->len;
		ret->number = v->number;
		return 0;
	}
	ret->text = word;
	ret->len = len;
	return 0;
}

static int
take_arguments(struct template_scan *s, struct kerchunk_var *var, size_t *ret)
{
	*ret = 0;
	while (!accept(s, ')')) {
		if (*ret == ARGUMENTS)
			return refuse(s, "too many arguments");
		int r = take_argument(s, &var[(*ret)++]);
		if (r < 0)
			return r;
		if (!accept(s, ',') && peek(s) != ')')
			return refuse(s, "arguments without an end");
	}
	return 0;
}

static int
name_value(struct template_scan *s, struct template_value *ret)
{
	struct kerchunk_var var[ARGUMENTS] = {0};
	struct kerchunk_names inner = {.templates = s->names->templates,
		.var = var,
		.outer = s->names,
		.depth = s->names->depth + 1,
		.steps = s->names->steps};
	const char *name;
	size_t text_len, len = take_name(s, &name);
	const struct kerchunk_var *v = find_var(s->names, name, len);
	const char *text = v ? v->text : find_template(s->names, name, len, &text_len);
	ret->is_text = text;
	if (v && v->text)
		return buf_add(&ret->text, v->text, v->len) < 0 ? no_memory() : 0;
	if (v) {
		ret->number = v->number;
		return 0;
	}
	if (!text)
		return err_set(-EINVAL, "a template '%.*s' that nothing is known of",
			(int)min_u64(len, SHOWN), name);
	if (inner.depth > DEPTH)
		return refuse(s, "templates lead to templates without an end");
	int r = accept(s, '(') ? take_arguments(s, var, &inner.nvars) : 0;
	return r < 0 ? r : kerchunk_render(text, text_len, &inner, &ret->text);
}

/* --- numbers --- */

static int sum(struct template_scan *, struct template_value *ret);

static int
digits(struct template_scan *s, struct template_value *ret)
{
	for (; s->at < s->end && isdigit((unsigned char)*s->at); s->at++)
		if (__builtin_mul_overflow(ret->number, 10, &ret->number) ||
			__builtin_add_overflow(ret->number, *s->at - '0', &ret->number))
			return refuse(s, "a number beyond 63 bits");
	if (s->at < s->end && (in_name((unsigned char)*s->at) || *s->at == '.'))
		return refuse(s, "not a whole number");
	return 0;
}

static int
primary(struct template_scan *s, struct template_value *ret)
{
	int c = peek(s);
	if (c == '\'' || c == '"') {
		const char *text;
		size_t len;
		int r = take_text(s, &text, &len);
		ret->is_text = true;
		return r < 0 ? r : buf_add(&ret->text, text, len) < 0 ? no_memory() : 0;
	}
	if (c == '(') {
		s->at++;
		int r = ++s->nest > PARENTHESES ? refuse(s, "too many parentheses") : sum(s, ret);
		s->nest--;
		return r < 0 || accept(s, ')') ? r : refuse(s, "a '(' without its ')'");
	}
	if (c >= 0 && isdigit(c))
		return digits(s, ret);
	return c >= 0 && in_name(c) ? name_value(s, ret) : refuse(s, "it is not understood");
}

static int
unary(struct template_scan *s, struct template_value *ret)
{
	bool minus = false;
	for (;; s->at++) {
		int c = peek(s);
		if (c != '-' && c != '+')
			break;
		minus ^= c == '-';
	}
	int r = primary(s, ret);
	if (r < 0 || !minus)
		return r;
	if (ret->is_text || __builtin_sub_overflow(0, ret->number, &ret->number))
		return refuse(s, "a '-' before what is no number");
	return 0;
}

/* Rounded down, as Python does it. */
static int
divide(const struct template_scan *s, const char *op, int64_t a, int64_t b, int64_t *ret)
{
	if (!b || (a == INT64_MIN && b == -1))
		return refuse(s, "a division that has no result");
	int64_t quotient = a / b, rest = a % b;
	if (rest && (rest < 0) != (b < 0)) {
		quotient--;
		rest += b;
	}
	if (!strcmp(op, "/") && rest)
		return refuse(s, "a division whose result is no whole number");
	*ret = *op == '%' ? rest : quotient;
	return 0;
}

static int
calculate(const struct template_scan *s, const char *op, struct template_value *a,
	const struct template_value *b)
{
	bool over = false;
	if (a->is_text || b->is_text)
		return refuse(s, "arithmetic with what is no number");
	switch (*op) {
	case '+': over = __builtin_add_overflow(a->number, b->number, &a->number); break;
	case '-': over = __builtin_sub_overflow(a->number, b->number, &a->number); break;
	case '*': over = __builtin_mul_overflow(a->number, b->number, &a->number); break;
	default: return divide(s, op, a->number, b->number, &a->number);
	}
	return over ? refuse(s, "a number beyond 63 bits") : 0;
}

/* "-}}" ends an expression, and drops the blanks behind it. */
static bool
at_trimming_end(struct template_scan *s)
{
	return peek(s) == '-' && s->end - s->at > 2 && s->at[1] == '}' && s->at[2] == '}';
}

/* NULL: none of them is next. */
static const char *
accept_one(struct template_scan *s, const char *const *ops)
{
	if (at_trimming_end(s))
		return NULL;
	for (; *ops; ops++) {
		size_t len = strlen(*ops);
		if ((size_t)(s->end - s->at) < len || memcmp(s->at, *ops, len))
			continue;
		s->at += len;
		return *ops;
	}
	return NULL;
}

static int
product(struct template_scan *s, struct template_value *ret)
{
	static const char *const ops[] = {"*", "//", "/", "%", NULL};
	int r = unary(s, ret);
	for (const char *op; r == 0 && (op = accept_one(s, ops));) {
		CLEAN(value_done) struct template_value other = {0};
		r = unary(s, &other);
		if (r == 0)
			r = calculate(s, op, ret, &other);
	}
	return r;
}

static int
sum(struct template_scan *s, struct template_value *ret)
{
	static const char *const ops[] = {"+", "-", NULL};
	int r = product(s, ret);
	for (const char *op; r == 0 && (op = accept_one(s, ops));) {
		CLEAN(value_done) struct template_value other = {0};
		r = product(s, &other);
		if (r == 0)
			r = calculate(s, op, ret, &other);
	}
	return r;
}

/* --- texts --- */

/* What stands behind "{{", with the "}}" or "-}}" that ends it. */
static int
expression(struct template_scan *s, struct buf *ret)
{
	CLEAN(value_done) struct template_value v = {0};
	if (!*s->names->steps)
		return err_set(-EFBIG, "templates that take too many steps");
	--*s->names->steps;
	int r = sum(s, &v);
	if (r < 0)
		return r;
	bool trim = at_trimming_end(s) && accept(s, '-');
	if (!accept(s, '}') || s->at == s->end || *s->at++ != '}')
		return refuse(s, "it is not understood");
	if (trim)
		peek(s);
	r = v.is_text ? buf_add(ret, v.text.data, v.text.len)
		      : buf_addf(ret, "%lld", (long long)v.number);
	return r < 0 ? no_memory() : 0;
}

int
kerchunk_render(const char *text, size_t len, const struct kerchunk_names *names, struct buf *ret)
{
	size_t before = ret->len;
	for (const char *p = text, *end = text + len; p < end;) {
		const char *open = memmem(p, (size_t)(end - p), "{{", 2);
		const char *from = open ? open + 2 : end, *to = open ? open : end;
		bool trim = from < end && *from == '-'; /* "{{-" drops the blanks before it */
		while (trim && to > p && isspace((unsigned char)to[-1]))
			to--;
		if (buf_add(ret, p, (size_t)(to - p)) < 0)
			return no_memory();
		p = end;
		if (open) {
			struct template_scan s = {from, from + trim, end, names, 0};
			int r = expression(&s, ret);
			if (r < 0)
				return r;
			p = s.at;
		}
		if (ret->len - before > KERCHUNK_RENDERED_MAX)
			return err_set(-EINVAL, "a template that makes more than %d bytes",
				KERCHUNK_RENDERED_MAX);
	}
	return 0;
}
