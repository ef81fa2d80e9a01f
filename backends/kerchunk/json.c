#include "backends/kerchunk/json.h"

#include "backends/kerchunk/gen.h"
#include "base/base64.h"
#include "base/check.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_lex.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	PIECE = 256 << 10,   /* bytes that the text grows by */
	ASIDE_MAX = 4 << 20, /* of templates and of gen, which are read as a whole */
	NAME_SHOWN = 60,
	MEMBER_SHARE =
		8, /* of what the table may have: text in pieces that double, unescaped, decoded */
};

enum aside { VERSION, TEMPLATES, GEN, ASIDES };

struct refs_reader {
	struct kerchunk_text *text;
	size_t most;
	struct buf window; /* text that is not read yet begins at `at` */
	size_t at;
	uint64_t gone; /* bytes of the text before the window */
	bool ended, inside, has_refs;
	struct buf
		aside[ASIDES]; /* members that are understood when all is there; empty: not said */
	struct buf key, value; /* of the member at hand */
	struct kerchunk_table *table;
};

/* What the text has next. */
struct member {
	enum { MEMBER, ENTER, LEAVE } what;
	struct lexeme key;
	const char *value;
	size_t len;
};

/* --- the text in pieces --- */

static int
too_long(const struct refs_reader *d)
{
	return err_set(-EFBIG,
		"the member at byte %" PRIu64
		" is longer than %zu bytes (option memory says how much)",
		d->gone, d->most / MEMBER_SHARE);
}

/* More of the text behind what there is. */
static int
refill(struct refs_reader *d)
{
	size_t left = d->window.len - d->at;
	if (d->at)
		memmove(d->window.data, d->window.data + d->at, left);
	d->gone += d->at;
	d->window.len = left;
	d->at = 0;
	if (left > d->most / MEMBER_SHARE)
		return too_long(d);
	int r = d->text->more(d->text, left > PIECE ? left : PIECE, &d->window);
	d->ended = r == 0;
	return r < 0 ? r : 0;
}

static struct lexer
lexer_of(const struct refs_reader *d)
{
	const char *text = (const char *)d->window.data;
	struct lexer l = {.start = text, .at = text + d->at, .end = text + d->window.len};
	if (d->gone == 0 && d->at == 0)
		l = lex_open(text, d->window.len);
	return l;
}

static bool
is_name(const struct lexeme *k, const char *name)
{
	return k->len == strlen(name) && !memcmp(k->text, name, k->len);
}

/* One member, or the bracket that ends them. -EINVAL: there is none, as far as the window goes. */
static int
scan_member(const struct refs_reader *d, struct lexer *l, struct member *ret)
{
	while (lex_accept(l, ','))
		continue;
	ret->what = LEAVE;
	if (lex_accept(l, '}'))
		return 0;
	int r = lex_key(l, &ret->key);
	if (r == 0)
		r = lex_expect(l, ':');
	if (r < 0)
		return r;
	lex_peek(l);
	ret->value = l->at;
	ret->what = ENTER;
	if (!d->inside && is_name(&ret->key, "refs") && lex_accept(l, '{'))
		return 0;
	ret->what = MEMBER;
	r = lex_skip(l);
	ret->len = (size_t)(l->at - ret->value);
	if (r == 0 && lex_peek(l) != ',' && lex_peek(l) != '}')
		r = lex_unexpected(l, "',' or '}'");
	return r;
}

/* What ret borrows lives until the next call. */
static int
next_member(struct refs_reader *d, struct member *ret)
{
	for (;;) {
		struct lexer l = lexer_of(d);
		int r = scan_member(d, &l, ret);
		if (r == 0)
			d->at = (size_t)(l.at - (const char *)d->window.data);
		if (r == 0 || d->ended)
			return r < 0 && d->gone ? err_add(r, "behind byte %" PRIu64, d->gone) : r;
		r = refill(d);
		if (r < 0)
			return r;
	}
}

static int
begin(struct refs_reader *d)
{
	int r = refill(d);
	struct lexer l = lexer_of(d);
	while (r == 0 && lex_peek(&l) < 0 && !d->ended) {
		d->at = (size_t)(l.at - (const char *)d->window.data);
		r = refill(d);
		l = lexer_of(d);
	}
	if (r == 0)
		r = lex_accept(&l, '{') ? 0 : lex_unexpected(&l, "kerchunk references, a dict");
	d->at = (size_t)(l.at - (const char *)d->window.data);
	return r;
}

/* --- one reference --- */

/* NULL: it is one; else why it is none. */
typedef const char *refusal;

static refusal
read_number(struct lexer *l, uint64_t *ret)
{
	struct lexeme w;
	uint64_t n = 0;
	int c = lex_peek(l);
	if (c == '-')
		return "a reference with a negative offset or length";
	if (c < '0' || c > '9' || lex_word(l, &w) < 0)
		return "a reference whose offset or length is no number";
	for (size_t i = 0; i < w.len; i++) {
		if (w.text[i] < '0' || w.text[i] > '9')
			return "a reference whose offset or length is no whole number";
		if (mul_over(n, 10, &n) || add_over(n, (uint64_t)(w.text[i] - '0'), &n))
			return "a reference beyond all offsets";
	}
	*ret = n;
	return NULL;
}

/* [url] or [url, offset, length]; the URL's text in scratch. */
static refusal
read_list(struct lexer *l, struct buf *scratch, struct kerchunk_ref *ret)
{
	struct lexeme s;
	uint64_t end;
	lex_accept(l, '[');
	int c = lex_peek(l);
	if (c == 'n')
		return "a reference without a URL, which only its maker's program is told";
	if (c != '"' || lex_string(l, &s) < 0)
		return "a reference that begins with no URL";
	scratch->len = 0;
	if (lex_unescape_key(s, scratch) < 0 || buf_terminate(scratch) < 0)
		return "no memory for a URL";
	ret->url = (const char *)scratch->data;
	ret->kind = KERCHUNK_WHOLE;
	bool more = lex_accept(l, ',');
	if (lex_accept(l, ']'))
		return NULL;
	ret->kind = KERCHUNK_RANGE;
	refusal why = more ? read_number(l, &ret->off) : "a list that is no reference";
	if (!why)
		why = lex_accept(l, ',') ? read_number(l, &ret->len)
					 : "a reference with an offset and no length";
	if (why)
		return why;
	lex_accept(l, ',');
	if (!lex_accept(l, ']'))
		return "a reference of more than three parts";
	return add_over(ret->off, ret->len, &end) || end > INT64_MAX
		       ? "a reference beyond all offsets"
		       : NULL;
}

static refusal
read_text(struct lexeme s, struct buf *scratch, struct kerchunk_ref *ret)
{
	static const char base64[] = "base64:";
	const size_t skip = sizeof base64 - 1;
	CLEAN(buf_free) struct buf text = {0};
	ret->kind = KERCHUNK_BYTES;
	scratch->len = 0;
	if (lex_unescape(s, scratch) < 0)
		return "no memory for a text";
	ret->bytes = buf_span(scratch);
	if (scratch->len < skip || memcmp(scratch->data, base64, skip))
		return NULL;
	text = *scratch;
	*scratch = (struct buf){0};
	if (base64_decode((char *)text.data + skip, text.len - skip, scratch) < 0)
		return "a text that is not the base64 it says it is";
	ret->bytes = buf_span(scratch);
	return NULL;
}

static int
add_ref(struct refs_reader *d, const struct member *m)
{
	struct lexer l = lex_open(m->value, m->len);
	struct kerchunk_ref ref = {0};
	struct lexeme s;
	refusal why = NULL;
	d->key.len = 0;
	if (lex_unescape_key(m->key, &d->key) < 0 || buf_terminate(&d->key) < 0)
		return err_set(-ENOMEM, "no memory for a key");
	int c = lex_peek(&l);
	if (c == '"' && lex_string(&l, &s) == 0)
		why = read_text(s, &d->value, &ref);
	else if (c == '[')
		why = read_list(&l, &d->value, &ref);
	else if (c == '{')
		ref = (struct kerchunk_ref){
			.kind = KERCHUNK_BYTES, .bytes = {(const uint8_t *)m->value, m->len}};
	else
		why = "a reference that is neither text nor a list";
	if (why)
		ref = (struct kerchunk_ref){.kind = KERCHUNK_BAD, .why = why};
	return kerchunk_table_add(d->table, (const char *)d->key.data, &ref, !d->inside);
}

/* --- the whole --- */

static int
put_aside(struct refs_reader *d, const struct member *m, enum aside which)
{
	struct buf *b = &d->aside[which];
	b->len = 0;
	if (m->len > ASIDE_MAX)
		return err_set(-EFBIG, "'%.*s' is too long", (int)min_u64(m->key.len, NAME_SHOWN),
			m->key.text);
	return buf_add(b, m->value, m->len) < 0 ? err_set(-ENOMEM, "no memory for references") : 0;
}

static int
take_member(struct refs_reader *d, const struct member *m)
{
	static const char *const names[ASIDES] = {"version", "templates", "gen"};
	for (unsigned i = 0; i < ASIDES && !d->inside; i++)
		if (is_name(&m->key, names[i]))
			return put_aside(d, m, i);
	return add_ref(d, m);
}

static int
read_members(struct refs_reader *d)
{
	for (;;) {
		struct member m;
		int r = next_member(d, &m);
		if (r < 0)
			return r;
		if (m.what == LEAVE && !d->inside)
			return 0;
		if (m.what == MEMBER)
			r = take_member(d, &m);
		else
			d->inside = m.what == ENTER;
		d->has_refs |= d->inside;
		if (r < 0)
			return r;
	}
}

/* Nothing but blanks follows. */
static int
check_end(struct refs_reader *d)
{
	for (;;) {
		struct lexer l = lexer_of(d);
		if (lex_peek(&l) >= 0)
			return lex_unexpected(&l, "the end of the text");
		if (d->ended)
			return 0;
		d->at = d->window.len;
		int r = refill(d);
		if (r < 0)
			return r;
	}
}

static bool
is_metadata(const char *name)
{
	static const char *const names[] = {".zgroup", ".zarray", "zarr.json", ".zattrs"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Version 0: all members are references. Is any one of Zarr's? */
static int
finish_v0(struct refs_reader *d)
{
	if (d->has_refs)
		return err_set(-EINVAL, "there are 'refs' and no 'version'");
	if (!kerchunk_table_any(d->table, is_metadata))
		return err_set(-EINVAL, "JSON that holds no kerchunk references");
	return 0;
}

static int
finish_v1(struct refs_reader *d)
{
	const struct buf *v = &d->aside[VERSION];
	const char *text = (const char *)v->data;
	if (v->len != 1 || *text != '1')
		return err_set(-ENOTSUP,
			"version %.*s of kerchunk references, where 0 and 1 are known",
			(int)min_u64(v->len, NAME_SHOWN), text);
	if (!d->has_refs && !d->aside[GEN].len)
		return err_set(-EINVAL, "kerchunk references without 'refs'");
	kerchunk_table_drop_loose(d->table);
	return kerchunk_gen(buf_span(&d->aside[TEMPLATES]), buf_span(&d->aside[GEN]), d->table);
}

static void
reader_done(struct refs_reader *d)
{
	for (unsigned i = 0; i < ASIDES; i++)
		buf_free(&d->aside[i]);
	buf_free(&d->window);
	buf_free(&d->key);
	buf_free(&d->value);
	kerchunk_table_free(d->table);
}

int
kerchunk_json_read(struct kerchunk_text *text, size_t most, struct kerchunk_table **ret)
{
	CLEAN(reader_done)
	struct refs_reader d = {.text = text, .most = most, .table = kerchunk_table_new(most)};
	if (!d.table || buf_reserve(&d.window, PIECE) < 0)
		return err_set(-ENOMEM, "no memory for references");
	int r = begin(&d);
	if (r == 0)
		r = read_members(&d);
	if (r == 0)
		r = check_end(&d);
	if (r == 0)
		r = d.aside[VERSION].len ? finish_v1(&d) : finish_v0(&d);
	if (r < 0)
		return r;
	kerchunk_table_close(d.table);
	*ret = MOVE(d.table);
	return 0;
}
