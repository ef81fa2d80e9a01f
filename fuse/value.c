#include "fuse/value.h"

#include "base/err.h"
#include "base/clock.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Digits, and nothing else but what *end then points at. */
static int
number(const char *text, int base, int64_t *ret, const char **end)
{
	char *stop;
	errno = 0;
	long long v = strtoll(text, &stop, base);
	if (*text < '0' || *text > '9')
		return err_set(-EINVAL, "'%s' is not a number", text);
	if (errno)
		return err_set(-EINVAL, "'%s' is too large", text);
	*ret = v;
	*end = stop;
	return 0;
}

static int
whole_number(const struct value *d, const char *text, int64_t *ret)
{
	const char *end = "";
	int64_t v = 0;
	int r = number(text, d->kind == VALUE_OCTAL ? 8 : 10, &v, &end);
	if (r < 0)
		return r;
	if (*end)
		return err_set(-EINVAL, "'%s' is not a number%s", text,
			d->kind == VALUE_OCTAL ? " of octal digits" : "");
	if (v < d->min || v > d->max)
		return d->kind == VALUE_OCTAL
			       ? err_set(-EINVAL, "must not be above %" PRIo64, d->max)
			       : err_set(-EINVAL, "must be from %" PRId64 " to %" PRId64, d->min,
					 d->max);
	*ret = v;
	return 0;
}

static int
seconds(const struct value *d, const char *text, int64_t *ret)
{
	int64_t v = 0;
	if (d->kind == VALUE_TTL && !strcmp(text, "immutable")) {
		*ret = INT64_MAX;
		return 0;
	}
	int r = whole_number(d, text, &v);
	if (r == 0)
		*ret = v * SECOND;
	return r;
}

/* A limit of cgroup v2 or v1, where this process sees one. */
static int64_t
limit_in(const char *path)
{
	long long v = 0;
	FILE *f = fopen(path, "re");
	if (!f)
		return INT64_MAX;
	if (fscanf(f, "%lld", &v) != 1 || v <= 0)
		v = INT64_MAX; /* "max" */
	fclose(f);
	return v;
}

static int64_t
memory_there(void)
{
	int64_t ram = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	int64_t v2 = limit_in("/sys/fs/cgroup/memory.max");
	int64_t v1 = limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");
	ram = v2 < ram ? v2 : ram;
	return v1 < ram ? v1 : ram;
}

static int
size(const struct value *d, const char *text, int64_t *ret)
{
	static const char units[] = "KMGT";
	const char *end = "", *unit;
	int64_t v = 0, factor = 1;
	int r = number(text, 10, &v, &end);
	if (r < 0)
		return r;
	if (!strcmp(end, "%")) {
		if (v < 1 || v > 100)
			return err_set(-EINVAL, "a share of the memory is from 1%% to 100%%");
		v = memory_there() / 100 * v;
		v = v < d->min ? d->min : v;
	} else if (*end && (unit = strchr(units, *end & ~0x20)) &&
		   (!end[1] || !strcasecmp(end + 1, "iB") || !strcasecmp(end + 1, "B"))) {
		factor = INT64_C(1) << 10 * (unit - units + 1);
	} else if (*end) {
		return err_set(-EINVAL, "'%s' is not a size such as 64M, 4G or 25%%", text);
	}
	if (__builtin_mul_overflow(v, factor, &v))
		return err_set(-EINVAL, "'%s' is too large", text);
	if (v < d->min)
		return err_set(-EINVAL, "must be at least %" PRId64 "%s",
			d->min >> 20 ? d->min >> 20 : d->min, d->min >> 20 ? "M" : "");
	*ret = v;
	return 0;
}

/* Which of the words in "a|b|c" the len bytes are. */
static int
place_in(const char *words, const char *text, size_t len, int64_t *ret)
{
	int64_t i = 0;
	for (const char *w = words; w; i++) {
		size_t n = strcspn(w, "|");
		if (n == len && !memcmp(w, text, n)) {
			*ret = i;
			return 0;
		}
		w = w[n] ? w + n + 1 : NULL;
	}
	return err_set(-EINVAL, "'%.*s' is not one of %s", (int)len, text, words);
}

static int
word(const struct value *d, const char *text, int64_t *ret)
{
	if (place_in(d->words, text, strlen(text), ret) < 0)
		return err_set(-EINVAL, "must be one of %s", d->words);
	return 0;
}

static int
words(const struct value *d, const char *text, int64_t *ret)
{
	int64_t bits = 0;
	for (const char *w = text; w;) {
		size_t n = strcspn(w, ":");
		int64_t i = 0;
		int r = place_in(d->words, w, n, &i);
		if (r < 0)
			return r;
		bits |= INT64_C(1) << i;
		w = w[n] ? w + n + 1 : NULL;
	}
	*ret = bits;
	return 0;
}

static int
identity(const struct value *d, const char *text, int64_t *ret)
{
	static const struct value id = {
		VALUE_NUMBER, .max = UINT32_MAX - 1}; /* the last one means "no change" to chown */
	if (*text >= '0' && *text <= '9')
		return whole_number(&id, text, ret);
	if (d->kind == VALUE_USER) {
		const struct passwd *p = getpwnam(text);
		if (!p)
			return err_set(-EINVAL, "no user '%s'", text);
		*ret = p->pw_uid;
		return 0;
	}
	const struct group *g = getgrnam(text);
	if (!g)
		return err_set(-EINVAL, "no group '%s'", text);
	*ret = g->gr_gid;
	return 0;
}

static int
keep_text(const char *text, int64_t *ret)
{
	if (!*text)
		return err_set(-EINVAL, "must not be empty");
	*ret = (int64_t)(intptr_t)text;
	return 0;
}

const char *
value_text(int64_t v)
{
	return (const char *)(intptr_t)v;
}

int
value_parse(const struct value *d, const char *text, int64_t *ret)
{
	switch (d->kind) {
	case VALUE_WORD: return word(d, text, ret);
	case VALUE_WORDS: return words(d, text, ret);
	case VALUE_NUMBER:
	case VALUE_OCTAL: return whole_number(d, text, ret);
	case VALUE_SIZE: return size(d, text, ret);
	case VALUE_SECONDS:
	case VALUE_TTL: return seconds(d, text, ret);
	case VALUE_USER:
	case VALUE_GROUP: return identity(d, text, ret);
	case VALUE_TEXT: return keep_text(text, ret);
	}
	return err_set(-EINVAL, "no such kind of value");
}

static void
print_word(const struct value *d, int64_t v, char ret[32])
{
	const char *w = d->words;
	while (v-- > 0)
		w = strchr(w, '|') + 1;
	snprintf(ret, 32, "%.*s", (int)strcspn(w, "|"), w);
}

static void
print_words(const struct value *d, int64_t bits, char ret[32])
{
	size_t used = 0;
	snprintf(ret, 32, "%s", bits ? "" : "default");
	for (const char *w = d->words; w; bits >>= 1) {
		size_t n = strcspn(w, "|");
		if (bits & 1 && used < 31)
			used += (size_t)snprintf(
				ret + used, 32 - used, "%s%.*s", used ? ":" : "", (int)n, w);
		w = w[n] ? w + n + 1 : NULL;
	}
}

void
value_print(const struct value *d, int64_t v, char ret[32])
{
	switch (d->kind) {
	case VALUE_WORD: print_word(d, v, ret); break;
	case VALUE_WORDS: print_words(d, v, ret); break;
	case VALUE_OCTAL: snprintf(ret, 32, "%03" PRIo64, v); break;
	case VALUE_SECONDS:
	case VALUE_TTL:
		if (v == INT64_MAX)
			snprintf(ret, 32, "immutable");
		else
			snprintf(ret, 32, "%" PRId64, v / SECOND);
		break;
	default: snprintf(ret, 32, "%" PRId64, v); break;
	}
}

const char *
value_form(const struct value *d)
{
	static const char *const form[] = {
		[VALUE_WORDS] = "WORD:WORD...",
		[VALUE_NUMBER] = "NUMBER",
		[VALUE_OCTAL] = "OCTAL",
		[VALUE_SIZE] = "SIZE",
		[VALUE_SECONDS] = "SECONDS",
		[VALUE_TTL] = "SECONDS|immutable",
		[VALUE_USER] = "USER",
		[VALUE_GROUP] = "GROUP",
		[VALUE_TEXT] = "TEXT",
	};
	return d->words ? d->words : form[d->kind];
}
