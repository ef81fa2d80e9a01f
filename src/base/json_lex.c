#include "base/json_lex.h"

#include "base/err.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

struct lexer
lex_open(const char *text, size_t len)
{
	struct lexer l = {.start = text, .at = text, .end = text + len};
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		l.at += 3;
	return l;
}

int
lex_peek(struct lexer *l)
{
	while (l->at < l->end && (unsigned char)*l->at <= ' ')
		l->at++;
	return l->at < l->end ? (unsigned char)*l->at : -1;
}

bool
lex_accept(struct lexer *l, char c)
{
	if (lex_peek(l) != c)
		return false;
	l->at++;
	return true;
}

int
lex_error(const struct lexer *l, const char *at, const char *why)
{
	size_t line = 1, column = 1;
	for (const char *p = l->start; p < at; p++) {
		if (*p == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)*p & 0xc0) != 0x80) { /* a character, not a byte */
			column++;
		}
	}
	return err_set(-EINVAL, "line %zu, column %zu: %s", line, column, why);
}

int
lex_unexpected(struct lexer *l, const char *what)
{
	char why[80];
	int c = lex_peek(l);
	if (c < 0)
		snprintf(why, sizeof why, "expected %s, not the end of the text", what);
	else if (c > ' ' && c < 0x7f)
		snprintf(why, sizeof why, "expected %s, not '%c'", what, c);
	else
		snprintf(why, sizeof why, "expected %s, not byte 0x%02x", what, (unsigned)c);
	return lex_error(l, l->at, why);
}

int
lex_expect(struct lexer *l, char c)
{
	return lex_accept(l, c) ? 0 : lex_unexpected(l, (char[]){'\'', c, '\'', 0});
}

int
lex_string(struct lexer *l, struct lexeme *ret)
{
	const char *open = l->at, *p = open + 1;
	bool escapes = false;
	while (p < l->end && *p != '"') {
		if (*p == '\\') {
			escapes = true;
			p++;
		}
		p++;
	}
	if (p >= l->end)
		return lex_error(l, open, "string without an end");
	*ret = (struct lexeme){open + 1, (size_t)(p - open - 1), escapes};
	l->at = p + 1;
	return 0;
}

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '+' || c == '-' || c == '.';
}

int
lex_word(struct lexer *l, struct lexeme *ret)
{
	const char *p = l->at;
	while (p < l->end && is_word(*p))
		p++;
	if (p == l->at)
		return lex_unexpected(l, "a value");
	*ret = (struct lexeme){l->at, (size_t)(p - l->at), false};
	l->at = p;
	return 0;
}

int
lex_key(struct lexer *l, struct lexeme *ret)
{
	int c = lex_peek(l);
	if (c == '"')
		return lex_string(l, ret);
	if (c < 0 || !is_word((char)c))
		return lex_unexpected(l, "a name");
	return lex_word(l, ret);
}

/* Skips to the bracket that ends the one at l->at. */
static int
skip_brackets(struct lexer *l)
{
	char closing[JSON_DEPTH_MAX];
	unsigned depth = 0;
	struct lexeme string;
	do {
		int c = lex_peek(l);
		if (c == '"') {
			int r = lex_string(l, &string);
			if (r < 0)
				return r;
			continue;
		}
		if (c < 0)
			return lex_unexpected(l, (char[]){'\'', closing[depth - 1], '\'', 0});
		if (c == '{' || c == '[') {
			if (depth == JSON_DEPTH_MAX)
				return lex_error(l, l->at, "nested too deep");
			closing[depth++] = c == '{' ? '}' : ']';
		} else if ((c == '}' || c == ']') && closing[--depth] != c) {
			return lex_unexpected(l, (char[]){'\'', closing[depth], '\'', 0});
		}
		l->at++;
	} while (depth);
	return 0;
}

int
lex_skip(struct lexer *l)
{
	struct lexeme any;
	int c = lex_peek(l);
	if (c == '"')
		return lex_string(l, &any);
	if (c == '{' || c == '[')
		return skip_brackets(l);
	return lex_word(l, &any);
}

static int
add_utf8(struct buf *b, uint32_t c)
{
	utf8proc_uint8_t u[4];

	return buf_add(b, u, (size_t)utf8proc_encode_char((utf8proc_int32_t)c, u));
}

static bool
hex_digit(char c, uint32_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;
	if (found)
		*ret = (uint32_t)(found - digits);
	return found;
}

/* The code unit of "\uXXXX" at p; false: that is not there. */
static bool
code_unit(const char *p, const char *end, uint32_t *ret)
{
	uint32_t unit = 0, digit;
	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return false;
	for (int i = 2; i < 6; i++) {
		if (!hex_digit(p[i], &digit))
			return false;
		unit = unit << 4 | digit;
	}
	*ret = unit;
	return true;
}

/* *p is at "\u"; it is left behind what was understood. */
static int
unescape_unicode(const char **p, const char *end, struct buf *ret)
{
	uint32_t c, low;
	if (!code_unit(*p, end, &c)) {
		*p += 2;
		return buf_add(ret, "\\u", 2);
	}
	*p += 6;
	bool high = c >= 0xd800 && c < 0xdc00;
	if (high && code_unit(*p, end, &low) && low >= 0xdc00 && low < 0xe000) {
		*p += 6;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xdc80 && c < 0xdd00) { /* as Python writes a byte that is no UTF-8 */
		return buf_add(ret, &(const uint8_t){(uint8_t)c}, 1);
	} else if (c >= 0xd800 && c < 0xe000) {
		c = 0xfffd;
	}
	return add_utf8(ret, c);
}

/* *p is at a backslash. */
static int
unescape_one(const char **p, const char *end, struct buf *ret)
{
	static const char from[] = "\"\\/'bfnrt", to[] = "\"\\/'\b\f\n\r\t";
	char c = (*p)[1];
	if (c == 'u')
		return unescape_unicode(p, end, ret);
	const char *known = c ? strchr(from, c) : NULL;
	int r = known ? buf_add(ret, &to[known - from], 1) : buf_add(ret, *p, 2);
	*p += 2;
	return r;
}

int
lex_unescape(struct lexeme s, struct buf *ret)
{
	const char *p = s.text, *end = p + s.len;
	int r = 0;
	while (p < end && r == 0) {
		const char *stop = s.has_escapes ? memchr(p, '\\', (size_t)(end - p)) : NULL;
		if (!stop)
			return buf_add(ret, p, (size_t)(end - p));
		r = buf_add(ret, p, (size_t)(stop - p));
		p = stop;
		if (r == 0)
			r = unescape_one(&p, end, ret);
	}
	return r;
}

int
lex_unescape_key(struct lexeme s, struct buf *ret)
{
	CLEAN(buf_free) struct buf text = {0};
	int r = lex_unescape(s, &text);
	for (size_t i = 0; i < text.len && r == 0;) {
		const uint8_t *p = text.data + i, *nul = memchr(p, 0, text.len - i);
		size_t n = nul ? (size_t)(nul - p) : text.len - i;
		r = buf_add(ret, p, n);
		if (nul && r == 0)
			r = add_utf8(ret, 0xfffd);
		i += n + 1;
	}
	return r;
}
