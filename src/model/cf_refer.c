/* Attributes that name other variables. */
#include "model/cf.h"

#include <errno.h>
#include <string.h>

struct reference {
	const char *attribute;
	enum cf_role role;
};

static const struct reference references[] = {
	{"coordinates", CF_COORDINATE},
	{"bounds", CF_BOUNDS},
	{"climatology", CF_BOUNDS},
	{"grid_mapping", CF_GRID_MAPPING},
	{0},
};

static const char BLANKS[] = " \t\n\r";

/* A word of grid_mapping may be "crs:", a mapping, followed by "x y", coordinates (section 5.6). */
static int
tell_word(const char *word, size_t len, enum cf_role role, cf_name_fn *fn, void *arg)
{
	if (word[len - 1] == ':')
		len--;
	CLEAN(clean_free) char *name = strndup(word, len);
	if (!name)
		return err_set(-ENOMEM, "no memory for a name");
	return len ? fn(arg, name, role) : 0;
}

static int
tell_words(const char *text, enum cf_role role, cf_name_fn *fn, void *arg)
{
	bool extended = role == CF_GRID_MAPPING && strchr(text, ':');
	int r = 0;
	while (r == 0 && *(text += strspn(text, BLANKS))) {
		size_t len = strcspn(text, BLANKS);
		bool coordinate = extended && text[len - 1] != ':';
		r = tell_word(text, len, coordinate ? CF_COORDINATE : role, fn, arg);
		text += len;
	}
	return r;
}

int
cf_words(const char *attribute, const char *text, cf_name_fn *fn, void *arg)
{
	int r = 0;
	for (const struct reference *f = references; f->attribute && r == 0; f++)
		if (strcmp(attribute, f->attribute) == 0)
			r = tell_words(text, f->role, fn, arg);
	return r;
}

bool
cf_refers(const char *attribute)
{
	const struct reference *f = references;
	while (f->attribute && strcmp(attribute, f->attribute) != 0)
		f++;
	return f->attribute;
}

int
cf_references(const struct attrs *as, cf_name_fn *fn, void *arg)
{
	int r = 0;
	for (size_t i = 0; i < as->count && r == 0; i++) {
		const struct attr *a = &as->attr[i];
		if (a->type != NC_TYPE_CHAR && !(a->type == NC_TYPE_STRING && a->count == 1))
			continue;
		const char *text = a->type == NC_TYPE_CHAR ? a->data : *(char **)a->data;
		r = cf_words(a->name, text, fn, arg);
	}
	return r;
}

/* A search of the text first: most attributes have nothing of this, and 20000 variables should cost
 * little. */
static bool
mentions(const struct node *n, const char *attribute)
{
	return n->attrs_text && memmem(n->attrs_text, n->attrs_len, attribute, strlen(attribute));
}

bool
cf_mentions(const struct node *n)
{
	for (const struct reference *f = references; f->attribute; f++)
		if (mentions(n, f->attribute))
			return true;
	return false;
}
