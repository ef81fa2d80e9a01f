/* Texts with {{…}} in them, as kerchunk's templates have them (kerchunk, docs/source/spec.rst: a
 * part of jinja2): names, names called with named arguments, whole numbers with + - * / // % and
 * parentheses. Everything else between braces is -EINVAL by name. */
#pragma once

#include "base/buf.h"
#include "base/json.h"

/* What a name stands for. */
struct kerchunk_var {
	const char *name;
	size_t name_len;
	const char *text; /* NULL: a number */
	size_t len;
	int64_t number;
};

/* What is in scope. The caller owns all of it. */
struct kerchunk_names {
	const struct json *templates; /* a dict of texts, or NULL */
	const struct kerchunk_var *var;
	size_t nvars;
	const struct kerchunk_names *outer; /* what is in scope besides; NULL: nothing */
	unsigned depth;                     /* templates that call templates */
	uint64_t *steps; /* expressions that may still be evaluated, here and in all that is
			    rendered besides; counted down */
};

enum { KERCHUNK_RENDERED_MAX = 64 << 10 }; /* bytes */

/* Appends what the text says. 0, -ENOMEM, or -EINVAL with the reason: an unknown name, what is not
 * understood, templates that lead to each other without end, more than KERCHUNK_RENDERED_MAX bytes.
 * -EFBIG: no steps are left. */
int kerchunk_render(const char *text, size_t len, const struct kerchunk_names *, struct buf *ret);
