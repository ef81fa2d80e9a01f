#include "view/netcdf/nc_names.h"

#include "base/buf.h"
#include "base/hash.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <utf8proc.h>

enum { ESCAPE = 5 }; /* strlen("_xHH_") */

/* Bytes of the UTF-8 character at p; 0: it is none. */
static size_t
character(const uint8_t *p, size_t left)
{
	utf8proc_int32_t c;
	utf8proc_ssize_t n = utf8proc_iterate(p, (utf8proc_ssize_t)left, &c);
	return n > 0 && c >= 0 ? (size_t)n : 0;
}

/* netCDF: no '/', no control characters, no blank at the end, a letter, digit, '_' or beyond ASCII
 * first. '%' is refused by ncgen and NCO. */
static bool
forbidden(const uint8_t *name, size_t i, size_t len)
{
	uint8_t c = name[i];
	if (c >= 0x80)
		return false;
	if (c < ' ' || c == 0x7f || c == '/' || c == '%')
		return true;
	return (c == ' ' && i + 1 == len) || (i == 0 && !isalnum(c) && c != '_');
}

/* Is what begins here, or will be when what follows is escaped, like an escape? */
static bool
looks_escaped(const uint8_t *name, size_t i, size_t len)
{
	const uint8_t *p = name + i;
	if (len - i < ESCAPE || p[0] != '_' || p[1] != 'x' || !isxdigit(p[2]) || !isxdigit(p[3]))
		return false;
	return p[4] == '_' || forbidden(name, i + 4, len) || !character(p + 4, len - i - 4);
}

static int
escape(const char *name, struct buf *ret)
{
	const uint8_t *p = (const uint8_t *)name;
	size_t len = strlen(name), n;
	int r = 0;
	for (size_t i = 0; i < len && r == 0; i += n) {
		n = character(p + i, len - i);
		if (!n || forbidden(p, i, len) || looks_escaped(p, i, len)) {
			n = 1;
			r = buf_addf(ret, "_x%02X_", p[i]);
		} else {
			r = buf_add(ret, p + i, n);
		}
	}
	return r < 0 ? r : buf_terminate(ret);
}

/* The name with at most `room` bytes, a hash of all of it where it is longer. */
static char *
cut(const char *name, size_t room)
{
	size_t len = strlen(name);
	char hash[24];
	if (len <= room)
		return strdup(name);
	int n = snprintf(hash, sizeof hash, "_%016llx",
		(unsigned long long)hash_end(hash_text(HASH_START, name)));
	size_t keep = room - (size_t)n;
	while (keep && (name[keep] & 0xc0) == 0x80)
		keep--;
	char *out = malloc(keep + (size_t)n + 1);
	if (out) {
		memcpy(out, name, keep);
		memcpy(out + keep, hash, (size_t)n + 1);
	}
	return out;
}

/* Letters and digits, and nothing that an escape begins with: most names are like that, and stay as
 * they are. */
static bool
is_plain(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !(*p == '_' && p[1] != 'x'))
			return false;
	return *name;
}

char *
nc_name(const char *name)
{
	CLEAN(buf_free) struct buf escaped = {0};
	if (is_plain(name))
		return cut(name, NC_NAME_MAX);
	if (!*name)
		return strdup("_x00_"); /* what no other name gives */
	if (escape(name, &escaped) < 0)
		return NULL;
	CLEAN(clean_free) utf8proc_uint8_t *nfc = utf8proc_NFC(escaped.data);
	return nfc ? cut((char *)nfc, NC_NAME_MAX) : NULL;
}

char *
nc_name_with(const char *name, const char *text)
{
	size_t len = strlen(text);
	CLEAN(clean_free) char *start = cut(name, NC_NAME_MAX - len);
	char *out = NULL;
	if (start && asprintf(&out, "%s%s", start, text) < 0)
		return NULL;
	return out;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Takes the name over. It is in the set now; NULL: it was before, or *ret_failed. */
static char *
take(struct nc_taken *t, char *name, bool *ret_failed)
{
	void *in = set_put(&t->names, name, by_name);
	if (in == name)
		return name;
	*ret_failed = !in;
	free(name);
	return NULL;
}

char *
nc_name_lent(struct nc_taken *t, const char *name)
{
	char *n = nc_name(name), *in;
	bool failed = !n;
	in = n ? take(t, n, &failed) : NULL;
	if (in || failed)
		return in;
	CLEAN(clean_free) char *first = nc_name(name);
	for (unsigned i = 2; !in && !failed; i++) {
		char more[16];
		snprintf(more, sizeof more, "_%u", i);
		failed = !first || !(n = nc_name_with(first, more));
		in = failed ? NULL : take(t, n, &failed);
	}
	return in;
}

char *
nc_name_once(struct nc_taken *t, const char *name)
{
	const char *in = nc_name_lent(t, name);
	return in ? strdup(in) : NULL;
}

void
nc_taken_done(struct nc_taken *t)
{
	set_free(&t->names, NULL);
}

void
nc_taken_free(struct nc_taken *t)
{
	set_free(&t->names, free);
}
