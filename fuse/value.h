/* Texts a user writes for options, as numbers (and pointers): one way to parse, to print and to
 * describe each kind. */
#pragma once

#include <stdint.h>

enum value_kind {
	VALUE_WORD,  /* its place in a list of words */
	VALUE_WORDS, /* "a:c": bit n is set for the n-th word of the list; 0: not given */
	VALUE_NUMBER,
	VALUE_OCTAL,
	VALUE_SIZE,    /* bytes: 64M, 4G, or 25% of the memory there is */
	VALUE_SECONDS, /* in ns */
	VALUE_TTL,     /* in ns, or "immutable": INT64_MAX */
	VALUE_USER,    /* name or number */
	VALUE_GROUP,
	VALUE_TEXT, /* as it is, not empty: the pointer, which lives as long as the text */
};

struct value {
	enum value_kind kind;
	const char *words; /* "a|b|c"; of others: what help calls them */
	int64_t min, max;  /* of numbers, sizes (bytes) and times (seconds) */
};

/* -EINVAL with the reason. */
int value_parse(const struct value *, const char *text, int64_t *ret);
/* Of VALUE_TEXT; NULL: none was given. */
const char *value_text(int64_t v);
/* Not of VALUE_TEXT, which may be longer. */
void value_print(const struct value *, int64_t v, char ret[32]);
/* What stands behind '=' in help: "native|little", "SECONDS", … */
const char *value_form(const struct value *);
