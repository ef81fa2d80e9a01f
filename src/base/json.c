#include "base/json_tree.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/json_lex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Values that were read, of lists and dicts that have not ended yet. */
struct open_members {
	struct json_member few[48], *of;
	size_t n, room;
};

struct parser {
	struct lexer lex;
	struct json_doc *doc;
	struct buf scratch; /* a text with escapes */
	struct open_members open;
	unsigned depth;
};

static int parse_value(struct parser *, const struct json **ret);

static int
push(struct open_members *o, const struct json_member *m)
{
	if (o->n == o->room) {
		const bool few = o->of == o->few;
		struct json_member *more = realloc(few ? NULL : o->of, 2 * o->room * sizeof *more);
		if (!more)
			return err_set(-ENOMEM, "no memory for JSON");
		if (few)
			memcpy(more, o->few, sizeof o->few);
		o->of = more;
		o->room *= 2;
	}
	o->of[o->n++] = *m;
	return 0;
}

static int
make_text(struct parser *p, enum json_type type, struct lexeme s, const struct json **ret)
{
	int r = 0;
	if (s.has_escapes) {
		p->scratch.len = 0;
		r = lex_unescape(s, &p->scratch);
		s = (struct lexeme){
			p->scratch.data ? (char *)p->scratch.data : "", p->scratch.len, false};
	}
	struct json *v = r == 0 ? json_doc_value(p->doc, type) : NULL;
	const char *text = v ? json_doc_text(p->doc, s.text, s.len) : NULL;
	if (!text)
		return r < 0 ? r : -ENOMEM;
	v->text = text;
	v->n = s.len;
	*ret = v;
	return 0;
}

static bool
lexeme_is(struct lexeme s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.text, word, s.len);
}

static int
parse_word(struct parser *p, const struct json **ret)
{
	struct lexeme s;
	int r = lex_word(&p->lex, &s);
	if (r < 0)
		return r;
	const bool is_true = lexeme_is(s, "true");
	const bool boolean = is_true || lexeme_is(s, "false");
	if (!boolean && !lexeme_is(s, "null"))
		return make_text(p, JSON_TYPE_WORD, s, ret);
	struct json *v = json_doc_value(p->doc, boolean ? JSON_TYPE_BOOL : JSON_TYPE_NULL);
	if (!v)
		return -ENOMEM;
	v->is_true = is_true;
	*ret = v;
	return 0;
}

static int
parse_text(struct parser *p, const struct json **ret)
{
	struct lexeme s;
	int r = lex_string(&p->lex, &s);
	return r < 0 ? r : make_text(p, JSON_TYPE_TEXT, s, ret);
}

static int
parse_key(struct parser *p, struct json_member *ret)
{
	struct lexeme key;
	int r = lex_key(&p->lex, &key);
	if (r == 0 && (key.has_escapes || memchr(key.text, 0, key.len))) {
		p->scratch.len = 0;
		r = lex_unescape_key(key, &p->scratch);
		key = (struct lexeme){
			p->scratch.data ? (char *)p->scratch.data : "", p->scratch.len, false};
	}
	if (r < 0)
		return r;
	ret->key = json_doc_text(p->doc, key.text, key.len);
	ret->key_len = key.len;
	return ret->key ? lex_expect(&p->lex, ':') : -ENOMEM;
}

/* The members of a list or dict, from behind its first bracket to behind its last. */
static int
parse_members(struct parser *p, bool dict)
{
	const char end = dict ? '}' : ']';
	int r;
	if (lex_accept(&p->lex, end))
		return 0;
	do {
		struct json_member m = {0};
		r = dict ? parse_key(p, &m) : 0;
		if (r == 0)
			r = parse_value(p, &m.value);
		if (r == 0)
			r = push(&p->open, &m);
	} while (r == 0 && lex_accept(&p->lex, ','));
	return r < 0 ? r : lex_expect(&p->lex, end);
}

static int
parse_brackets(struct parser *p, bool dict, const struct json **ret)
{
	const size_t first = p->open.n;
	struct json *v = json_doc_value(p->doc, dict ? JSON_TYPE_DICT : JSON_TYPE_LIST);
	int r = v ? parse_members(p, dict) : -ENOMEM;
	if (r < 0)
		return r;
	const struct json_member *m = p->open.of + first;
	r = dict ? json_doc_dict(v, m, p->open.n - first) : json_doc_list(v, m, p->open.n - first);
	p->open.n = first;
	*ret = v;
	return r;
}

static int
parse_value(struct parser *p, const struct json **ret)
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
	int r = parse_brackets(p, c == '{', ret);
	p->depth--;
	return r;
}

int
json_parse(const char *text, size_t len, struct json **ret)
{
	enum { VALUE_BYTES_ABOUT = 6 }; /* that a byte of text becomes */
	struct parser p = {.lex = lex_open(text, len)};
	const struct json *v = NULL;
	p.open.of = p.open.few;
	p.open.room = sizeof p.open.few / sizeof *p.open.few;
	p.doc = json_doc_new(len * VALUE_BYTES_ABOUT);
	int r = p.doc ? parse_value(&p, &v) : -ENOMEM;
	if (r == 0 && lex_peek(&p.lex) >= 0)
		r = lex_unexpected(&p.lex, "the end of the text");
	buf_free(&p.scratch);
	if (p.open.of != p.open.few)
		free(p.open.of);
	if (r < 0)
		json_doc_unref(p.doc);
	else
		*ret = (struct json *)v;
	return r;
}
