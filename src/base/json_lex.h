/* The words of sloppy JSON, for json.c and json_scan only: where a text, a bare word or a whole
 * value ends, and what a text says once its escapes are resolved. A lexer borrows its text and
 * lives on its user's stack. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum { JSON_DEPTH_MAX = 512 };

struct lexer {
	const char *start, *at, *end;
};

/* Bytes of the text: between the quotes of a string, or a whole bare word. */
struct lexeme {
	const char *text;
	size_t len;
	bool has_escapes;
};

/* Skips a byte order mark. */
struct lexer lex_open(const char *text, size_t len);
/* The next byte that is not blank, or -1 at the end. Blanks before it are skipped, it is not. */
int lex_peek(struct lexer *);
/* Skips c, if it is next. */
bool lex_accept(struct lexer *, char c);
/* 0, or -EINVAL: something else is next. */
int lex_expect(struct lexer *, char c);
/* -EINVAL, "line L, column C: expected WHAT, not …" about what is next. */
int lex_unexpected(struct lexer *, const char *what);
/* -EINVAL, "line L, column C: why". */
int lex_error(const struct lexer *, const char *at, const char *why);

/* A string, of which the opening quote is next. */
int lex_string(struct lexer *, struct lexeme *ret);
/* A run of letters, digits and _ $ + - . which is all that a number or bare word is made of; at
 * least one byte. */
int lex_word(struct lexer *, struct lexeme *ret);
/* A key: a string, or a bare word. */
int lex_key(struct lexer *, struct lexeme *ret);
/* Skips a value of any type. Only strings and the nesting of brackets are looked at. */
int lex_skip(struct lexer *);

/* Adds what a string says. `\'` is an apostrophe, a lone surrogate of \udc80 to \udcff the byte
 * that Python means by it, another one U+FFFD; an escape that does not exist is kept as it stands,
 * and so are bytes that are not UTF-8. 0 or -ENOMEM. */
int lex_unescape(struct lexeme, struct buf *ret);
/* The same for a key, in which NUL becomes U+FFFD as well: a name with NUL in it is none. */
int lex_unescape_key(struct lexeme, struct buf *ret);
