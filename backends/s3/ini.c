#include "backends/s3/ini.h"

#include <stdbool.h>
#include <string.h>

struct slice {
	const char *at;
	size_t len;
};

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static struct slice
trim(struct slice s)
{
	while (s.len && blank(*s.at)) {
		s.at++;
		s.len--;
	}
	while (s.len && blank(s.at[s.len - 1]))
		s.len--;
	return s;
}

/* A comment may follow a value: '#' or ';' behind a blank. */
static struct slice
without_comment(struct slice s)
{
	for (size_t i = 1; i < s.len; i++)
		if ((s.at[i] == '#' || s.at[i] == ';') && blank(s.at[i - 1]))
			s.len = i;
	return trim(s);
}

/* "[name]", perhaps with a comment behind. */
static bool
is_section(struct slice line, struct slice *ret)
{
	const char *end = line.len && *line.at == '[' ? memchr(line.at, ']', line.len) : NULL;
	if (!end)
		return false;
	*ret = trim((struct slice){line.at + 1, (size_t)(end - line.at) - 1});
	return true;
}

static bool
is_setting(struct slice line, struct slice *key, struct slice *value)
{
	const char *equals = memchr(line.at, '=', line.len);
	if (!equals || equals == line.at)
		return false;
	size_t before = (size_t)(equals - line.at);
	*key = trim((struct slice){line.at, before});
	*value = without_comment(trim((struct slice){equals + 1, line.len - before - 1}));
	if (value->len && (*value->at == '#' || *value->at == ';') && blank(value->at[-1]))
		value->len = 0;
	return key->len;
}

int
ini_parse(const char *text, size_t len, ini_fn *fn, void *arg)
{
	struct slice section = {text, 0}, parent = {NULL, 0}, key, value;
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		struct slice raw = {text + at, end ? (size_t)(end - text) - at : len - at};
		struct slice line = trim(raw);
		bool indented = raw.len && blank(*raw.at);
		at += raw.len + 1;
		if (!line.len || *line.at == '#' || *line.at == ';')
			continue;
		if (!indented && is_section(line, &section)) {
			parent = (struct slice){NULL, 0};
			continue;
		}
		if (!is_setting(line, &key, &value))
			continue;
		bool nested = indented && parent.at;
		int r = fn(arg,
			&(struct ini_entry){section.at, section.len, nested ? parent.at : NULL,
				nested ? parent.len : 0, key.at, key.len, value.at, value.len});
		if (r)
			return r;
		if (!nested)
			parent = value.len ? (struct slice){NULL, 0} : key;
	}
	return 0;
}
