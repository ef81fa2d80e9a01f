#include "base/json.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/json_lex.h"

#include <errno.h>
#define json_type jansson_type /* our name; jansson has it for an enum that is not needed here */
#include <jansson.h>
#undef json_type
#include <string.h>

/* The first byte of every string that jansson holds for us. */
enum { MARK_TEXT = 't', MARK_WORD = 'w' };

struct parser {
	struct lexer lex;
	struct buf scratch; /* one marked string */
	unsigned depth;
};

static json_t *
as_jansson(const struct json *v)
{
	return (json_t *)v;
}

static struct json *
as_json(json_t *v)
{
	return (struct json *)v;
}

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for JSON");
}

static int parse_value(struct parser *, json_t **ret);

static int
make_string(struct parser *p, char mark, struct lexeme s, json_t **ret)
{
	p->scratch.len = 0;
	int r = buf_add(&p->scratch, &mark, 1);
	if (r == 0)
		r = lex_unescape(s, &p->scratch);
	if (r < 0)
		return r;
	*ret = json_stringn_nocheck((char *)p->scratch.data, p->scratch.len);
	return *ret ? 0 : no_memory();
}

static bool
lexeme_is(struct lexeme s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.text, word, s.len);
}

static int
parse_word(struct parser *p, json_t **ret)
{
	struct lexeme s;
	int r = lex_word(&p->lex, &s);
	if (r < 0)
		return r;
	if (lexeme_is(s, "true"))
		*ret = json_true();
	else if (lexeme_is(s, "false"))
		*ret = json_false();
	else if (lexeme_is(s, "null"))
		*ret = json_null();
	else
		r = make_string(p, MARK_WORD, s, ret);
	return r;
}

static int
parse_text(struct parser *p, json_t **ret)
{
	struct lexeme s;
	int r = lex_string(&p->lex, &s);
	return r < 0 ? r : make_string(p, MARK_TEXT, s, ret);
}

static int
parse_member(struct parser *p, json_t *dict)
{
	CLEAN(buf_free) struct buf resolved = {0};
	json_t *value = NULL;
	struct lexeme key;
	int r = lex_key(&p->lex, &key);
	if (r == 0 && (key.has_escapes || memchr(key.text, 0, key.len))) {
		r = lex_unescape_key(key, &resolved);
		key = (struct lexeme){
			resolved.data ? (char *)resolved.data : "", resolved.len, false};
	}
	if (r == 0)
		r = lex_expect(&p->lex, ':');
	if (r == 0)
		r = parse_value(p, &value);
	if (r < 0)
		return r;
	return json_object_setn_new_nocheck(dict, key.text, key.len, value) ? no_memory() : 0;
}

static int
parse_dict(struct parser *p, json_t **ret)
{
	json_auto_t *dict = json_object();
	if (!dict)
		return no_memory();
	if (!lex_accept(&p->lex, '}')) {
		int r;
		do
			r = parse_member(p, dict);
		while (r == 0 && lex_accept(&p->lex, ','));
		if (r == 0)
			r = lex_expect(&p->lex, '}');
		if (r < 0)
			return r;
	}
	*ret = MOVE(dict);
	return 0;
}

static int
parse_list(struct parser *p, json_t **ret)
{
	json_auto_t *list = json_array();
	if (!list)
		return no_memory();
	if (!lex_accept(&p->lex, ']')) {
		int r;
		do {
			json_t *item = NULL;
			r = parse_value(p, &item);
			if (r == 0 && json_array_append_new(list, item))
				r = no_memory();
		} while (r == 0 && lex_accept(&p->lex, ','));
		if (r == 0)
			r = lex_expect(&p->lex, ']');
		if (r < 0)
			return r;
	}
	*ret = MOVE(list);
	return 0;
}

static int
parse_value(struct parser *p, json_t **ret)
{
	int c = lex_peek(&p->lex);
	if (c == '"')
		return parse_text(p, ret);
	if (c != '{' && c != '[')
		return parse_word(p, ret);
	if (p->depth == JSON_DEPTH_MAX)
		return lex_error(&p->lex, p->lex.at, "nested too deep");
	p->depth++;
	p->lex.at++;
	int r = c == '{' ? parse_dict(p, ret) : parse_list(p, ret);
	p->depth--;
	return r;
}

int
json_parse(const char *text, size_t len, struct json **ret)
{
	struct parser p = {.lex = lex_open(text, len)};
	json_auto_t *v = NULL;
	int r = parse_value(&p, &v);
	buf_free(&p.scratch);
	if (r == 0 && lex_peek(&p.lex) >= 0)
		r = lex_unexpected(&p.lex, "the end of the text");
	if (r == 0)
		*ret = as_json(MOVE(v));
	return r;
}

bool
json_is_strict(const char *text, size_t len)
{
	json_auto_t *v = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	return v;
}

/* Threads share a value: jansson's own json_decref reads the count of references without an
   atomic load, so the counting is done here. null, true and false are never counted. */

static bool
counted(json_t *j)
{
	return j && __atomic_load_n(&j->refcount, __ATOMIC_RELAXED) != (size_t)-1;
}

struct json *
json_free(struct json *v)
{
	json_t *j = as_jansson(v);
	if (counted(j) && __atomic_sub_fetch(&j->refcount, 1, __ATOMIC_ACQ_REL) == 0)
		json_delete(j);
	return NULL;
}

struct json *
json_ref(const struct json *v)
{
	json_t *j = as_jansson(v);
	if (counted(j))
		__atomic_add_fetch(&j->refcount, 1, __ATOMIC_RELAXED);
	return as_json(j);
}

enum json_type
json_type(const struct json *v)
{
	json_t *j = as_jansson(v);
	switch (json_typeof(j)) {
	case JSON_OBJECT: return JSON_TYPE_DICT;
	case JSON_ARRAY: return JSON_TYPE_LIST;
	case JSON_STRING:
		return json_string_value(j)[0] == MARK_WORD ? JSON_TYPE_WORD : JSON_TYPE_TEXT;
	case JSON_TRUE:
	case JSON_FALSE: return JSON_TYPE_BOOL;
	default: return JSON_TYPE_NULL; /* jansson's own numbers are never made here */
	}
}

const char *
json_type_name(const struct json *v)
{
	static const char *const name[] = {
		[JSON_TYPE_NULL] = "null",
		[JSON_TYPE_BOOL] = "a boolean",
		[JSON_TYPE_WORD] = "a number",
		[JSON_TYPE_TEXT] = "text",
		[JSON_TYPE_LIST] = "a list",
		[JSON_TYPE_DICT] = "a dict",
	};
	return v ? name[json_type(v)] : "nothing";
}

const char *
json_text(const struct json *v, size_t *len)
{
	json_t *j = as_jansson(v);
	if (!json_is_string(j))
		return NULL;
	if (len)
		*len = json_string_length(j) - 1;
	return json_string_value(j) + 1;
}

bool
json_is(const struct json *v, const char *text)
{
	size_t len;
	const char *s = json_text(v, &len);
	return s && json_type(v) == JSON_TYPE_TEXT && len == strlen(text) && !memcmp(s, text, len);
}

bool
json_bool(const struct json *v)
{
	return json_is_true(as_jansson(v));
}

size_t
json_count(const struct json *v)
{
	json_t *j = as_jansson(v);
	return json_is_array(j) ? json_array_size(j) : json_object_size(j);
}

const struct json *
json_at(const struct json *list, size_t i)
{
	return as_json(json_array_get(as_jansson(list), i));
}

const struct json *
json_get(const struct json *dict, const char *key)
{
	return as_json(json_object_get(as_jansson(dict), key));
}

void *
json_first(const struct json *dict)
{
	return json_object_iter(as_jansson(dict));
}

void *
json_next(const struct json *dict, void *iter)
{
	return json_object_iter_next(as_jansson(dict), iter);
}

const char *
json_key(void *iter)
{
	return json_object_iter_key(iter);
}

const struct json *
json_value(void *iter)
{
	return as_json(json_object_iter_value(iter));
}

/* As JSON writes it, or NULL: it stands for itself. */
static const char *
escape_of(char c, char room[8])
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	if ((unsigned char)c >= ' ' && c != '"' && c != '\\')
		return NULL;
	const char *known = c ? strchr(from, c) : NULL;
	if (known)
		snprintf(room, 8, "\\%c", to[known - from]);
	else
		snprintf(room, 8, "\\u%04x", (unsigned)c);
	return room;
}

static int
dump_string(const char *s, size_t len, struct buf *ret)
{
	char room[8];
	size_t from = 0;
	int r = buf_add(ret, "\"", 1);
	for (size_t i = 0; i < len && r == 0; i++) {
		const char *escape = escape_of(s[i], room);
		if (!escape)
			continue;
		r = buf_add(ret, s + from, i - from);
		if (r == 0)
			r = buf_add(ret, escape, strlen(escape));
		from = i + 1;
	}
	if (r == 0)
		r = buf_add(ret, s + from, len - from);
	return r < 0 ? r : buf_add(ret, "\"", 1);
}

static int dump(json_t *, struct buf *ret);

static int
dump_list(json_t *v, struct buf *ret)
{
	int r = buf_add(ret, "[", 1);
	for (size_t i = 0; i < json_array_size(v) && r == 0; i++) {
		if (i)
			r = buf_add(ret, ", ", 2);
		if (r == 0)
			r = dump(json_array_get(v, i), ret);
	}
	return r < 0 ? r : buf_add(ret, "]", 1);
}

static int
dump_dict(json_t *v, struct buf *ret)
{
	int r = buf_add(ret, "{", 1);
	void *first = json_object_iter(v);
	for (void *i = first; i && r == 0; i = json_object_iter_next(v, i)) {
		if (i != first)
			r = buf_add(ret, ", ", 2);
		if (r == 0)
			r = dump_string(json_object_iter_key(i), json_object_iter_key_len(i), ret);
		if (r == 0)
			r = buf_add(ret, ": ", 2);
		if (r == 0)
			r = dump(json_object_iter_value(i), ret);
	}
	return r < 0 ? r : buf_add(ret, "}", 1);
}

static int
dump(json_t *v, struct buf *ret)
{
	size_t len;
	const char *s = json_text(as_json(v), &len);
	switch (json_type(as_json(v))) {
	case JSON_TYPE_DICT: return dump_dict(v, ret);
	case JSON_TYPE_LIST: return dump_list(v, ret);
	case JSON_TYPE_TEXT: return dump_string(s, len, ret);
	case JSON_TYPE_WORD: return buf_add(ret, s, len);
	case JSON_TYPE_BOOL:
		return json_is_true(v) ? buf_add(ret, "true", 4) : buf_add(ret, "false", 5);
	default: return buf_add(ret, "null", 4);
	}
}

char *
json_dump(const struct json *v)
{
	CLEAN(buf_free) struct buf text = {0};
	if (dump(as_jansson(v), &text) < 0)
		return NULL;
	return strndup((char *)text.data, text.len);
}
