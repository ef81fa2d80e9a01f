#include "base/url_fragment.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	unsigned bit;
} modes[] = {
	{"nczarr", URL_NCZARR},
	{"zarr", URL_ZARR},
	{"xarray", URL_XARRAY},
	{"noxarray", URL_NOXARRAY},
	{"v2", URL_V2},
	{"v3", URL_V3},
	{"file", URL_FILE},
	{"zip", URL_ZIP},
	{"s3", URL_S3},
	{"gs3", URL_GS3},
	{"consolidated", URL_CONSOLIDATED},
	{"bytes", URL_BYTES},
	{"kerchunk", URL_KERCHUNK},
};

/* Only one of each row can be. */
static const unsigned exclusive[] = {
	URL_XARRAY | URL_NOXARRAY,
	URL_V2 | URL_V3,
	URL_FILE | URL_ZIP,
	URL_KERCHUNK | URL_ZIP,
	URL_FILE | URL_S3 | URL_GS3,
};

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for a URL");
}

static bool
same_word(const char *s, size_t len, const char *word)
{
	return len == strlen(word) && !strncasecmp(s, word, len);
}

static bool
has(const char *s, size_t len, const char *part)
{
	size_t n = strlen(part);
	for (size_t i = 0; i + n <= len; i++)
		if (!strncasecmp(s + i, part, n))
			return true;
	return false;
}

bool
fragment_key_is_secret(const char *key, size_t len)
{
	static const char *const parts[] = {"x-amz-", "x-goog-", "access_key", "accesskey",
		"secret", "password", "passwd", "token", "signature", "credential", "userpwd"};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (has(key, len, parts[i]))
			return true;
	return same_word(key, len, "sig"); /* Azure's shared access signature */
}

int
fragment_refuse_secret(const char *key, size_t len)
{
	return err_set(-EINVAL,
		"'%.*s' in the URL would show a secret to every user of this machine: use a "
		"profile or the environment",
		len < 64 ? (int)len : 64, key);
}

static int
digit(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10
					    : -1;
}

int
fragment_decode(const char *text, size_t len, char **ret)
{
	CLEAN(clean_free) char *decoded = malloc(len + 1);
	if (!decoded)
		return no_memory();
	char *to = decoded;
	for (size_t i = 0; i < len; i++, to++) {
		*to = text[i];
		if (text[i] != '%')
			continue;
		int high = i + 2 < len ? digit(text[i + 1]) : -1,
		    low = high < 0 ? -1 : digit(text[i + 2]);
		if (low < 0)
			return err_set(-EINVAL, "'%%' without two hexadecimal digits in the URL "
						"(the character itself is %%25)");
		*to = (char)(high * 16 + low);
		if (!*to)
			return err_set(-EINVAL, "%%00 in the URL");
		i += 2;
	}
	*to = 0;
	*ret = MOVE(decoded);
	return 0;
}

static unsigned
mode_bit(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (same_word(word, len, modes[i].word))
			return modes[i].bit;
	return 0;
}

static const char *
mode_word(unsigned bit)
{
	size_t i = 0;
	while (modes[i].bit != bit)
		i++;
	return modes[i].word;
}

static int
parse_mode(const char *list, size_t len, struct url *url)
{
	for (const char *end = list + len; list <= end;) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		size_t n = (size_t)((comma ? comma : end) - list);
		unsigned bit = mode_bit(list, n);
		if (n && !bit)
			return err_set(-EINVAL, "unknown mode '%.*s' in the URL",
				n < 64 ? (int)n : 64, list);
		url->mode |= bit;
		list += n + 1;
	}
	return 0;
}

/* Is this "W.…" for a wrapper of the URL? */
static bool
key_of_wrapper(const char *key, const struct url *url)
{
	size_t len = strcspn(key, ".");
	for (const char *w = url->wrappers; *w && key[len]; w += strcspn(w, "+"), w += *w == '+')
		if (strcspn(w, "+") == len && !memcmp(w, key, len))
			return true;
	return false;
}

static int
check_key(const char *key, const struct url *url)
{
	static const char *const known[] = {"aws.profile", "aws.region", "aws.endpoint", "branch",
		"log", "show", "snapshot", "tag"};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(key, known[i]))
			return 0;
	return key_of_wrapper(key, url)
		       ? 0
		       : err_set(-EINVAL, "unknown word '%.64s' behind the '#' of the URL", key);
}

/* Takes key and value over, also when it fails. */
static int
add_pair(struct url *url, char *key, char *value)
{
	CLEAN(clean_free) char *own_key = key, *own_value = value;
	int r = check_key(key, url);
	if (r < 0)
		return r;
	const char *before = url_get(url, key);
	if (before)
		return strcmp(before, value)
			       ? err_set(-EINVAL,
					 "'%.64s' is in the URL twice, with different values", key)
			       : 0;
	return LIST_ADD(
		url->pair, url->npairs, "a URL", (struct url_pair){MOVE(own_key), MOVE(own_value)});
}

/* One "key=value" or word. */
static int
parse_part(const char *part, size_t len, struct url *url)
{
	const char *equals = memchr(part, '=', len);
	size_t key_len = equals ? (size_t)(equals - part) : len;
	if (fragment_key_is_secret(part, key_len))
		return fragment_refuse_secret(part, key_len);
	if (equals && same_word(part, key_len, "mode"))
		return parse_mode(equals + 1, len - key_len - 1, url);
	unsigned bit = equals ? 0 : mode_bit(part, len);
	if (!len || bit) {
		url->mode |= bit;
		return 0;
	}
	CLEAN(clean_free) char *key = NULL, *value = NULL;
	int r = fragment_decode(part, key_len, &key);
	if (r == 0)
		r = fragment_decode(
			equals ? equals + 1 : "", equals ? len - key_len - 1 : 0, &value);
	if (r < 0)
		return r;
	for (char *c = key; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (fragment_key_is_secret(key, strlen(key)))
		return fragment_refuse_secret(key, strlen(key));
	if (!strcmp(key, "aws.endpoint") && strchr(value, '@'))
		return err_set(-EINVAL, "aws.endpoint in the URL has user information");
	return add_pair(url, MOVE(key), MOVE(value));
}

static int
check_modes(unsigned mode)
{
	for (size_t i = 0; i < sizeof exclusive / sizeof *exclusive; i++) {
		unsigned both = mode & exclusive[i], first = both & -both, others = both & ~first;
		if (others)
			return err_set(-EINVAL, "the URL says both '%s' and '%s'", mode_word(first),
				mode_word(others & -others));
	}
	return 0;
}

int
fragment_parse(const char *fragment, struct url *url)
{
	for (;;) {
		size_t len = strcspn(fragment, "&");
		int r = parse_part(fragment, len, url);
		if (r < 0)
			return r;
		if (!fragment[len])
			return check_modes(url->mode);
		fragment += len + 1;
	}
}
