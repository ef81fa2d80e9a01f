#include "backends/net/netrc.h"

#include "base/clean.h"
#include "store/zmap.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct netrc_reader {
	struct span text;
	size_t at;
};

static bool
blank(uint8_t c)
{
	return isspace(c);
}

static bool
more(const struct netrc_reader *r)
{
	return r->at < r->text.len;
}

/* To the end of this line, or of a macro: an empty line. */
static void
skip_lines(struct netrc_reader *r, bool macro)
{
	bool empty = false;
	while (more(r)) {
		uint8_t c = r->text.data[r->at++];
		if (c == '\n' && (!macro || empty))
			return;
		empty = c == '\n' || (empty && c == '\r');
	}
}

/* One of the characters between double quotes; what a backslash means. */
static uint8_t
quoted(struct netrc_reader *r)
{
	uint8_t c = r->text.data[r->at++];
	if (c != '\\' || !more(r))
		return c;
	c = r->text.data[r->at++];
	return c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
}

/* The next word, comments passed over. False: there is none. */
static bool
word(struct netrc_reader *r, struct buf *ret, int *error)
{
	ret->len = 0;
	for (;;) {
		while (more(r) && blank(r->text.data[r->at]))
			r->at++;
		if (!more(r) || r->text.data[r->at] != '#')
			break;
		skip_lines(r, false);
	}
	if (!more(r))
		return false;
	bool in_quotes = r->text.data[r->at] == '"';
	r->at += in_quotes;
	while (*error == 0 && more(r)) {
		uint8_t c = r->text.data[r->at];
		if (in_quotes ? c == '"' : blank(c))
			break;
		c = in_quotes ? quoted(r) : r->text.data[r->at++];
		*error = buf_add(ret, &c, 1);
	}
	if (in_quotes && more(r))
		r->at++;
	if (*error == 0)
		*error = buf_terminate(ret);
	return *error == 0;
}

struct netrc_entry {
	bool here; /* it is this host's */
	struct buf login, password;
};

static void
entry_done(struct netrc_entry *e)
{
	buf_free(&e->login);
	buf_free(&e->password);
}

static bool
complete(const struct netrc_entry *e)
{
	return e->here && e->login.len;
}

int
netrc_find(struct span text, const char *host, struct buf *ret)
{
	struct netrc_reader r = {text, 0};
	CLEAN(entry_done) struct netrc_entry e = {0};
	CLEAN(buf_free) struct buf w = {0};
	int error = 0;
	while (word(&r, &w, &error)) {
		const char *key = (const char *)w.data;
		bool machine = !strcmp(key, "machine"), any = !strcmp(key, "default");
		if ((machine || any) && complete(&e))
			break;
		if (!strcmp(key, "macdef")) {
			skip_lines(&r, true);
		} else if (any) {
			e.here = true;
			e.login.len = e.password.len = 0;
		} else if (machine) {
			e.here = word(&r, &w, &error) && !strcasecmp((const char *)w.data, host);
			e.login.len = e.password.len = 0;
		} else if (!strcmp(key, "login")) {
			word(&r, &e.login, &error);
		} else if (!strcmp(key, "password")) {
			word(&r, &e.password, &error);
		} else if (!strcmp(key, "account")) {
			word(&r, &w, &error);
		}
	}
	if (error < 0 || !complete(&e))
		return error < 0 ? error : ZMAP_ABSENT;
	error = buf_add(ret, e.login.data, e.login.len);
	if (error == 0)
		error = buf_add(ret, ":", 1);
	return error == 0 ? buf_add(ret, e.password.data, e.password.len) : error;
}
