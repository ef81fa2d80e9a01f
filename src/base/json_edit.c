#include "base/json_edit.h"

#include "base/err.h"
#include "base/json.h"
#include "base/json_lex.h"

#include <errno.h>
#include <string.h>
#include <utf8proc.h>

/* One member of a dict, or element of a list (key and colon NULL then), in the text. */
struct json_part {
	const char *begin; /* of the key with its quote, or of the value */
	const char *colon; /* behind the key; NULL: none */
	const char *value, *end;
	const char *before; /* end of the part before it, or behind the opening bracket */
};

/* A dict or list in the text, gone through. */
struct json_inside {
	const char *open;  /* behind the bracket */
	const char *close; /* at the one that ends it */
	size_t count;
	struct json_part last, found, next; /* next: behind found; begin NULL: there is none */
};

/* How members are laid out around. */
struct style {
	struct span blank; /* before the first member of the dict around, behind its bracket */
	struct span colon; /* between key and value */
	unsigned depth;    /* brackets around */
	bool ascii;        /* what is put in */
};

static bool
is_key(struct lexeme key, const char *name, int *r)
{
	size_t len = strlen(name);
	if (!key.has_escapes && !memchr(key.text, 0, key.len))
		return key.len == len && !memcmp(key.text, name, len);
	const struct json_slice s = {
		.key = key.text, .key_len = key.len, .has_escapes = key.has_escapes};
	CLEAN(clean_free) char *text = json_slice_key(&s);
	if (!text)
		*r = err_set(-ENOMEM, "no memory for a key");
	return text && !strcmp(text, name);
}

static int
read_part(struct lexer *l, bool dict, const char *name, struct json_part *ret, bool *is_it)
{
	struct lexeme key;
	int r = 0;
	lex_peek(l);
	ret->begin = l->at;
	ret->colon = NULL;
	*is_it = false;
	if (dict) {
		r = lex_key(l, &key);
		ret->colon = l->at;
		if (r == 0)
			r = lex_expect(l, ':');
		if (r == 0)
			*is_it = name && is_key(key, name, &r);
	}
	if (r < 0)
		return r;
	lex_peek(l);
	ret->value = l->at;
	r = lex_skip(l);
	ret->end = l->at;
	return r;
}

/* Goes through the dict or list that is next; found is the last member of that name, or element
 * `at`. */
static int
look_inside(struct lexer *l, const char *name, size_t at, struct json_inside *ret)
{
	const bool dict = lex_peek(l) == '{';
	const char close = dict ? '}' : ']';
	*ret = (struct json_inside){0};
	if (name ? !dict : lex_peek(l) != '[')
		return lex_unexpected(l, name ? "a dict" : "a list");
	l->at++;
	ret->open = l->at;
	const char *before = l->at;
	while (lex_peek(l) != close || ret->count) {
		struct json_part p = {.before = before};
		bool is_it;
		int r = read_part(l, dict, name, &p, &is_it);
		if (r < 0)
			return r;
		if (ret->found.begin && !ret->next.begin)
			ret->next = p;
		if (is_it || (!name && ret->count == at)) {
			ret->found = p;
			ret->next = (struct json_part){0};
		}
		ret->last = p;
		ret->count++;
		before = l->at;
		if (!lex_accept(l, ','))
			break;
	}
	lex_peek(l);
	ret->close = l->at;
	return lex_expect(l, close);
}

static struct span
between(const char *from, const char *to)
{
	return (struct span){(const uint8_t *)from, (size_t)(to - from)};
}

/* The blanks that stand before a part, behind the comma or bracket before it. */
static struct span
blanks_before(const struct json_part *p)
{
	const char *from = p->begin;
	while (from > p->before && from[-1] != ',' && (unsigned char)from[-1] <= ' ')
		from--;
	return between(from, p->begin);
}

/* Replaces bytes [from, to) of doc, which point into it. */
static int
splice(struct buf *doc, const char *from, const char *to, struct span by)
{
	CLEAN(buf_free) struct buf b = {0};
	const char *start = (const char *)doc->data, *end = start + doc->len;
	int r = buf_add(&b, start, (size_t)(from - start));
	if (r == 0 && by.len)
		r = buf_add(&b, by.data, by.len);
	if (r == 0)
		r = buf_add(&b, to, (size_t)(end - to));
	if (r < 0)
		return err_set(-ENOMEM, "no memory for a document");
	buf_free(doc);
	*doc = b;
	b = (struct buf){0};
	return 0;
}

static int
add_span(struct buf *b, struct span s)
{
	return s.len ? buf_add(b, s.data, s.len) : 0;
}

/* "b": {"c": VALUE} for path b, c. */
static int
add_member(struct buf *b, const char *const *path, struct span colon, struct span value)
{
	unsigned dicts = 0;
	int r = json_quote(*path, strlen(*path), b);
	for (path++; r == 0 && *path; path++, dicts++) {
		r = add_span(b, colon);
		if (r == 0)
			r = buf_add(b, "{", 1);
		if (r == 0)
			r = json_quote(*path, strlen(*path), b);
	}
	if (r == 0)
		r = add_span(b, colon);
	if (r == 0)
		r = add_span(b, value);
	for (; r == 0 && dicts; dicts--)
		r = buf_add(b, "}", 1);
	return r;
}

static bool
has_newline(struct span s)
{
	return s.len && memchr(s.data, '\n', s.len);
}

/* The blanks before the members of a dict at that depth, where those at the depth above stand
 * behind `above`. */
static int
add_deeper(struct buf *b, struct span above, unsigned depth, unsigned wanted)
{
	const uint8_t *line = memrchr(above.data, '\n', above.len);
	size_t indent = (size_t)(above.data + above.len - line - 1), unit = indent / depth;
	const char c = indent ? (char)line[1] : ' ';
	int r = buf_add(b, "\n", 1);
	for (size_t i = 0; r == 0 && i < unit * wanted; i++)
		r = buf_add(b, &c, 1);
	return r;
}

/* Puts a member behind the last one of its dict. */
static int
append(struct buf *doc, const struct json_inside *in, const struct style *around,
	const char *const *path, struct span value)
{
	CLEAN(buf_free) struct buf b = {0};
	static const struct span one_blank = {(const uint8_t *)" ", 1};
	const bool lines = !in->count && around->depth && has_newline(around->blank);
	struct span colon = in->count ? between(in->last.colon, in->last.value) : around->colon;
	int r = 0;
	if (in->count) {
		struct span blank = blanks_before(&in->last);
		bool tight = in->count == 1 && !blank.len && colon.len > 1;
		r = buf_add(&b, ",", 1);
		if (r == 0)
			r = add_span(&b, tight ? one_blank : blank);
	} else if (lines) {
		r = add_deeper(&b, around->blank, around->depth, around->depth + 1);
	}
	if (r == 0)
		r = add_member(&b, path, colon, value);
	if (r == 0 && lines)
		r = add_deeper(&b, around->blank, around->depth, around->depth);
	if (r == 0 && around->ascii)
		r = json_to_ascii(&b);
	if (r < 0)
		return r;
	return in->count ? splice(doc, in->last.end, in->last.end, buf_span(&b))
			 : splice(doc, in->open, in->close, buf_span(&b));
}

static int
replace(struct buf *doc, const struct json_part *p, bool ascii, struct span value)
{
	CLEAN(buf_free) struct buf b = {0};
	if (!ascii)
		return splice(doc, p->value, p->end, value);
	int r = add_span(&b, between(p->begin, p->value));
	if (r == 0)
		r = add_span(&b, value);
	if (r == 0)
		r = json_to_ascii(&b);
	return r < 0 ? r : splice(doc, p->begin, p->end, buf_span(&b));
}

static int
at_end(struct lexer *l)
{
	return lex_peek(l) >= 0 ? lex_unexpected(l, "the end of the text") : 0;
}

static struct lexer
open_doc(struct span doc)
{
	return lex_open(doc.len ? (const char *)doc.data : "", doc.len);
}

/* Is the value one, and nothing more? */
static int
check_value(struct span value)
{
	struct lexer l = open_doc(value);
	int r = lex_peek(&l) < 0 ? lex_unexpected(&l, "a value") : lex_skip(&l);
	return r < 0 ? r : at_end(&l);
}

static int
set_member(struct buf *doc, const char *const *path, bool ascii, struct span value)
{
	static const struct span plain_colon = {(const uint8_t *)": ", 2};
	struct style style = {.colon = plain_colon, .ascii = ascii};
	struct lexer l = open_doc(buf_span(doc));
	int r = check_value(value);
	for (bool outermost = true; r == 0; outermost = false, path++) {
		struct json_inside in;
		r = look_inside(&l, *path, 0, &in);
		if (r == 0 && outermost)
			r = at_end(&l);
		if (r < 0)
			return r;
		if (!in.found.begin)
			return append(doc, &in, &style, path, value);
		if (!path[1])
			return replace(doc, &in.found, ascii, value);
		style = (struct style){.blank = blanks_before(&in.found),
			.colon = between(in.found.colon, in.found.value),
			.depth = style.depth + 1,
			.ascii = ascii};
		l.at = in.found.value;
	}
	return r;
}

int
json_edit_set(struct buf *doc, const char *const *path, struct span value)
{
	return set_member(doc, path, false, value);
}

int
json_edit_set_ascii(struct buf *doc, const char *const *path, struct span value)
{
	return set_member(doc, path, true, value);
}

/* The part is taken out, with the comma that it needed. */
static int
take_out(struct buf *doc, const struct json_inside *in)
{
	static const struct span nothing = {0};
	if (in->count == 1)
		return splice(doc, in->open, in->close, nothing);
	if (in->next.begin)
		return splice(doc, in->found.begin, in->next.begin, nothing);
	return splice(doc, in->found.before, in->found.end, nothing);
}

/* Once. ret: whether there was one. */
static int
delete_one(struct buf *doc, const char *const *path, bool *ret)
{
	struct lexer l = open_doc(buf_span(doc));
	*ret = false;
	for (bool outermost = true;; outermost = false, path++) {
		struct json_inside in;
		int r = look_inside(&l, *path, 0, &in);
		if (r == 0 && outermost)
			r = at_end(&l);
		if (r < 0 || !in.found.begin)
			return r;
		if (!path[1]) {
			*ret = true;
			return take_out(doc, &in);
		}
		l.at = in.found.value;
	}
}

int
json_edit_del(struct buf *doc, const char *const *path)
{
	bool more;
	int r;
	do
		r = delete_one(doc, path, &more);
	while (r == 0 && more);
	return r;
}

int
json_edit_find(struct span doc, const char *const *path, struct span *ret)
{
	struct lexer l = open_doc(doc);
	const char *end = l.end;
	int c = lex_peek(&l);
	if (c < 0)
		return lex_unexpected(&l, "a value");
	const char *begin = l.at;
	for (; *path; path++) {
		struct json_inside in;
		if (lex_peek(&l) != '{')
			return err_set(-ENOENT, "no '%.100s' in it", *path);
		int r = look_inside(&l, *path, 0, &in);
		if (r < 0)
			return r;
		if (!in.found.begin)
			return err_set(-ENOENT, "no '%.100s' in it", *path);
		l.at = begin = in.found.value;
		end = in.found.end;
	}
	while (end > begin && (unsigned char)end[-1] <= ' ')
		end--;
	*ret = between(begin, end);
	return 0;
}

/* Puts an element behind the last one of its list. */
static int
append_element(struct buf *doc, const struct json_inside *in, struct span value)
{
	CLEAN(buf_free) struct buf b = {0};
	static const struct span one_blank = {(const uint8_t *)" ", 1};
	int r = 0;
	if (in->count) {
		struct span blank = blanks_before(&in->last);
		r = buf_add(&b, ",", 1);
		if (r == 0)
			r = add_span(&b, in->count == 1 && !blank.len ? one_blank : blank);
	}
	if (r == 0)
		r = add_span(&b, value);
	if (r < 0)
		return r;
	return in->count ? splice(doc, in->last.end, in->last.end, buf_span(&b))
			 : splice(doc, in->open, in->close, buf_span(&b));
}

/* Goes through the list that path leads to; element `at` is found. */
static int
look_at_list(const struct buf *doc, const char *const *path, size_t at, struct json_inside *ret)
{
	struct span list;
	int r = json_edit_find(buf_span(doc), path, &list);
	if (r < 0)
		return r == -ENOENT ? -EINVAL : r;
	struct lexer l = open_doc(buf_span(doc));
	l.at = (const char *)list.data;
	if (lex_peek(&l) != '[')
		return lex_unexpected(&l, "a list");
	return look_inside(&l, NULL, at, ret);
}

static int
no_element(const struct json_inside *in, size_t at)
{
	return err_set(-EINVAL, "a list of %zu elements has no element %zu", in->count, at);
}

int
json_edit_at(struct buf *doc, const char *const *path, size_t at, struct span value)
{
	struct json_inside in;
	int r = check_value(value);
	if (r == 0)
		r = look_at_list(doc, path, at, &in);
	if (r == 0 && at > in.count)
		r = no_element(&in, at);
	if (r < 0)
		return r;
	return at == in.count ? append_element(doc, &in, value)
			      : splice(doc, in.found.value, in.found.end, value);
}

int
json_edit_take(struct buf *doc, const char *const *path, size_t at)
{
	struct json_inside in;
	int r = look_at_list(doc, path, at, &in);
	if (r == 0 && at >= in.count)
		r = no_element(&in, at);
	return r < 0 ? r : take_out(doc, &in);
}

/* Bytes of the character at s, or 0: it is none. */
static size_t
character(const char *s, size_t len)
{
	utf8proc_int32_t c;
	utf8proc_ssize_t n =
		utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)len, &c);
	return n > 0 ? (size_t)n : 0;
}

int
json_quote(const char *s, size_t len, struct buf *ret)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	int r = buf_add(ret, "\"", 1);
	for (size_t i = 0, n; i < len && r == 0; i += n) {
		const char *known = s[i] ? strchr(from, s[i]) : NULL;
		const unsigned c = (unsigned char)s[i];
		n = character(s + i, len - i);
		if (known)
			r = buf_add(ret, (char[]){'\\', to[known - from]}, 2);
		else if (!n)
			r = buf_addf(ret, "\\udc%02x", c);
		else if (c < ' ')
			r = buf_addf(ret, "\\u%04x", c);
		else
			r = buf_add(ret, s + i, n);
		n = n ? n : 1;
	}
	return r < 0 ? r : buf_add(ret, "\"", 1);
}

/* A character beyond ASCII, by its code in UTF-16. */
static int
add_escaped(struct buf *ret, utf8proc_int32_t c)
{
	if (c < 0x10000)
		return buf_addf(ret, "\\u%04x", (unsigned)c);
	const unsigned above = (unsigned)c - 0x10000;
	return buf_addf(ret, "\\u%04x\\u%04x", 0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
}

int
json_to_ascii(struct buf *value)
{
	CLEAN(buf_free) struct buf plain = {0};
	const utf8proc_uint8_t *s = value->data;
	utf8proc_ssize_t left = (utf8proc_ssize_t)value->len;
	int r = 0;
	for (utf8proc_ssize_t n; left > 0 && r == 0; s += n, left -= n) {
		utf8proc_int32_t c;
		n = utf8proc_iterate(s, left, &c);
		if (n <= 0)
			return err_set(-EINVAL, "text that is no UTF-8");
		r = n == 1 ? buf_add(&plain, s, 1) : add_escaped(&plain, c);
	}
	if (r < 0)
		return r;
	const struct buf was = *value;
	*value = plain;
	plain = was;
	return 0;
}
