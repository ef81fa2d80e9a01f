#include "backends/s3/xml.h"

#include "backends/s3/iso8601.h"
#include "base/err.h"
#include "base/lazy.h"

#include <errno.h>
#include <expat.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define LIBEXPAT(F) \
	F(XML_ErrorString) F(XML_GetCurrentLineNumber) F(XML_GetErrorCode) F(XML_Parse) \
	F(XML_ParserCreate) F(XML_ParserFree) F(XML_SetCharacterDataHandler) \
	F(XML_SetElementHandler) F(XML_SetStartDoctypeDeclHandler) F(XML_SetUserData) \
	F(XML_StopParser) F(XML_UseParserAsHandlerArg)
/* clang-format on */
LAZY_LIBRARY(libexpat, LIBEXPAT, SONAME_EXPAT)

static int
new_parser(XML_Parser *ret)
{
	int r = libexpat_load();
	if (r < 0)
		return r;
	*ret = libexpat.XML_ParserCreate(NULL);
	return *ret ? 0 : err_set(-ENOMEM, "no memory for an XML parser");
}

static void
refuse_doctype(void *parser, const char *name, const char *sysid, const char *pubid, int internal)
{
	libexpat.XML_StopParser(parser, XML_FALSE);
}

/* 0 or -EINVAL. The handlers' user data is the parser's own, set before. */
static int
run(XML_Parser p, struct span document)
{
	libexpat.XML_SetStartDoctypeDeclHandler(p, refuse_doctype);
	if (document.len > INT_MAX || libexpat.XML_Parse(p, (const char *)document.data,
					      (int)document.len, 1) == XML_STATUS_ERROR)
		return err_set(-EINVAL, "line %lu is no XML: %s",
			(unsigned long)libexpat.XML_GetCurrentLineNumber(p),
			document.len > INT_MAX
				? "too long"
				: libexpat.XML_ErrorString(libexpat.XML_GetErrorCode(p)));
	return 0;
}

/* --- texts by their names --- */

struct xml_finder {
	struct xml_field *fields, *inside;
	size_t n, used;
	bool done[16];
};

static void
field_begins(void *arg, const char *name, const char **attributes)
{
	struct xml_finder *f = XML_GetUserData((XML_Parser)arg);
	f->inside = NULL;
	for (size_t i = 0; i < f->n; i++)
		if (!f->done[i] && !strcmp(name, f->fields[i].name)) {
			f->inside = &f->fields[i];
			f->used = 0;
		}
}

static void
field_text(void *arg, const char *text, int len)
{
	struct xml_finder *f = XML_GetUserData((XML_Parser)arg);
	size_t n = (size_t)len;
	if (!f->inside)
		return;
	if (n > XML_TEXT - 1 - f->used)
		n = XML_TEXT - 1 - f->used;
	memcpy(f->inside->text + f->used, text, n);
	f->used += n;
	f->inside->text[f->used] = 0;
}

static void
field_ends(void *arg, const char *name)
{
	struct xml_finder *f = XML_GetUserData((XML_Parser)arg);
	if (f->inside)
		f->done[f->inside - f->fields] = true;
	f->inside = NULL;
}

int
xml_fields(struct span document, struct xml_field *fields, size_t n)
{
	struct xml_finder f = {.fields = fields, .n = n < 16 ? n : 16};
	for (size_t i = 0; i < n; i++)
		fields[i].text[0] = 0;
	XML_Parser p = NULL;
	int r = new_parser(&p);
	if (r < 0)
		return r;
	libexpat.XML_SetUserData(p, &f);
	libexpat.XML_UseParserAsHandlerArg(p);
	libexpat.XML_SetElementHandler(p, field_begins, field_ends);
	libexpat.XML_SetCharacterDataHandler(p, field_text);
	r = run(p, document);
	libexpat.XML_ParserFree(p);
	return r;
}

/* --- listings --- */

enum { DEPTH_PAGE = 1, DEPTH_ENTRY, DEPTH_MEMBER };

struct lister {
	zmap_list_fn *fn;
	void *arg;
	const char *prefix;
	struct xml_page page;
	unsigned depth;
	bool is_page, encoded;
	bool contents, common; /* inside of an entry */
	struct buf text;       /* of the innermost element */
	struct buf name;       /* of the entry */
	struct zmap_stat stat;
	int result; /* != 0 ends it */
};

static void
stop(XML_Parser p, struct lister *l, int result)
{
	l->result = result;
	libexpat.XML_StopParser(p, XML_FALSE);
}

static void
list_begins(void *arg, const char *name, const char **attributes)
{
	struct lister *l = XML_GetUserData((XML_Parser)arg);
	l->text.len = 0;
	l->depth++;
	if (l->depth == DEPTH_PAGE)
		l->is_page = !strcmp(name, "ListBucketResult");
	if (l->depth == DEPTH_ENTRY) {
		l->contents = !strcmp(name, "Contents");
		l->common = !strcmp(name, "CommonPrefixes");
		l->name.len = 0;
		l->stat = (struct zmap_stat){0};
	}
}

static void
list_text(void *arg, const char *text, int len)
{
	XML_Parser p = arg;
	struct lister *l = XML_GetUserData(p);
	int r = buf_add(&l->text, text, (size_t)len);
	if (r < 0)
		stop(p, l, r);
}

static int
digit(uint8_t c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
				      : -1;
}

/* In place. '+' is a blank: that is how S3 writes it; a '+' is %2B. */
static void
decode(struct buf *b)
{
	size_t to = 0;
	for (size_t i = 0; i < b->len; i++) {
		uint8_t c = b->data[i] == '+' ? ' ' : b->data[i];
		int high = c == '%' && i + 2 < b->len ? digit(b->data[i + 1]) : -1;
		int low = high < 0 ? -1 : digit(b->data[i + 2]);
		if (low >= 0) {
			c = (uint8_t)(high * 16 + low);
			i += 2;
		}
		b->data[to++] = c;
	}
	b->len = to;
}

/* The text as it is meant, terminated. NULL: no memory, or a NUL in it. */
static const char *
plain(struct lister *l, struct buf *b)
{
	if (l->encoded)
		decode(b);
	if (buf_terminate(b) < 0 || (b->len && memchr(b->data, 0, b->len)))
		return NULL;
	return (const char *)b->data;
}

static int
tell(struct lister *l)
{
	size_t skip = strlen(l->prefix);
	l->page.seen++;
	const char *name = plain(l, &l->name);
	if (!name || strncmp(name, l->prefix, skip))
		return 0; /* not what was asked for */
	name += skip;
	size_t n = strlen(name);
	if (l->common && n && name[n - 1] == '/')
		l->name.data[skip + n - 1] = 0;
	if (!*name)
		return 0; /* the prefix itself, kept as an object by programs that like
			     directories */
	l->page.entries++;
	return l->fn(l->arg, name, l->common, l->contents ? &l->stat : NULL);
}

static int
keep_name(struct lister *l)
{
	l->name.len = 0;
	return buf_add(&l->name, l->text.data, l->text.len);
}

static int
member_ends(struct lister *l, const char *name)
{
	if (buf_terminate(&l->text) < 0)
		return -ENOMEM;
	const char *text = (const char *)l->text.data;
	if (!strcmp(name, l->common ? "Prefix" : "Key"))
		return keep_name(l);
	if (!strcmp(name, "Size"))
		l->stat.size = strtoull(text, NULL, 10);
	if (!strcmp(name, "LastModified"))
		l->stat.mtime = iso8601_parse(text);
	if (!strcmp(name, "ETag") && l->text.len < sizeof l->stat.version)
		memcpy(l->stat.version, text, l->text.len + 1);
	return 0;
}

static int
entry_ends(struct lister *l, const char *name)
{
	if (l->contents || l->common)
		return tell(l);
	if (buf_terminate(&l->text) < 0)
		return -ENOMEM;
	const char *text = (const char *)l->text.data;
	if (!strcmp(name, "IsTruncated"))
		l->page.truncated = !strcmp(text, "true");
	if (!strcmp(name, "NextContinuationToken")) {
		free(l->page.next);
		l->page.next = strdup(text);
		return l->page.next ? 0 : err_set(-ENOMEM, "no memory for a token");
	}
	return 0;
}

static void
list_ends(void *arg, const char *name)
{
	XML_Parser p = arg;
	struct lister *l = XML_GetUserData(p);
	int r = 0;
	if (l->result)
		return;
	if (l->is_page && l->depth == DEPTH_MEMBER && (l->contents || l->common))
		r = member_ends(l, name);
	if (l->is_page && l->depth == DEPTH_ENTRY) {
		r = entry_ends(l, name);
		l->contents = l->common = false;
	}
	l->depth--;
	l->text.len = 0;
	if (r)
		stop(p, l, r);
}

int
xml_list(struct span page, const char *prefix, zmap_list_fn *fn, void *arg, struct xml_page *ret)
{
	static const char url[] = "<EncodingType>url</EncodingType>";
	struct lister l = {.fn = fn, .arg = arg, .prefix = prefix};
	XML_Parser p = NULL;
	int r = new_parser(&p);
	if (r < 0)
		return r;
	/* Where it stands among the elements differs, and no text of an element can contain it. */
	l.encoded = page.len && memmem(page.data, page.len, url, sizeof url - 1);
	libexpat.XML_SetUserData(p, &l);
	libexpat.XML_UseParserAsHandlerArg(p);
	libexpat.XML_SetElementHandler(p, list_begins, list_ends);
	libexpat.XML_SetCharacterDataHandler(p, list_text);
	r = run(p, page);
	if (l.result)
		r = l.result;
	else if (r == -EINVAL)
		r = err_add(-EIO, "a page of the listing cannot be read");
	else if (r == 0 && !l.is_page)
		r = err_set(-EIO, "the answer to a listing is no listing");
	libexpat.XML_ParserFree(p);
	buf_free(&l.text);
	buf_free(&l.name);
	if (r == 0)
		*ret = l.page;
	else
		free(l.page.next);
	return r;
}
