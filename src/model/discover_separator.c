/* What stands between the indices in the keys of chunks, where metadata do not say it: the keys
 * do. */
#include "model/probe.h"

#include <stdio.h>
#include <string.h>

static bool
digits_only(const char *s, size_t n)
{
	return n && strspn(s, "0123456789") >= n;
}

/* The first name that can only be a chunk's decides: "1.7" or the directory "1". */
static int
see_name(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	char *found = arg;
	const char *dot = strchr(name, '.');
	if (prefix && digits_only(name, strlen(name)))
		*found = '/';
	else if (!prefix && dot && digits_only(name, (size_t)(dot - name)))
		*found = '.';
	return *found != 0;
}

int
discover_separator(const struct discovery *l, struct node *n)
{
	struct array_meta *a = n->array;
	char prefix[PATH_BYTES_MAX + 2];
	char found = 0;
	if (!a || !a->separator_assumed || l->how == HOW_LOOKUP || !l->model->opt.detect_separator)
		return 0;
	snprintf(prefix, sizeof prefix, "%s%s", l->path, *l->path ? "/" : "");
	int r = l->model->zmap->caps & ZMAP_LIST
			? zmap_list(l->model->zmap, prefix, see_name, &found)
			: 0;
	if (r < 0)
		return r;
	a->separator_assumed = false;
	a->separator = found ? found : a->separator;
	return array_fingerprint(a);
}

bool
discover_separator_due(const struct discovery *l)
{
	const struct node *n = l->old;
	return l->how != HOW_LOOKUP && l->model->opt.detect_separator && n && n->array &&
	       n->array->separator_assumed;
}
