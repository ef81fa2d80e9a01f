#include "view/advice.h"

#include "model/dialect.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

/* "s3:/bucket", where no such file is. */
static bool
is_nearly_url(const char *store)
{
	static const char *const scheme[] = {"s3", "gs", "gs3", "http", "https", NULL};
	size_t n = strcspn(store, ":/");
	for (unsigned i = 0; store[n] == ':' && scheme[i]; i++)
		if (strlen(scheme[i]) == n && strncmp(store, scheme[i], n) == 0)
			return strncmp(store + n, "://", 3) != 0;
	return false;
}

/* An object of metadata. */
static bool
is_part(const struct url *u)
{
	const char *slash = strrchr(u->shown, '/');
	return meta_is_name(slash ? slash + 1 : u->shown);
}

static int
say_part(const char *store, int r)
{
	return err_set(r, "'%s' is a part of a store: name the directory that it lies in", store);
}

int
advice_unopened(const struct url *u, const char *store, int r)
{
	if (*u->below && is_part(u))
		return say_part(store, r);
	if (r == -ENOENT && is_nearly_url(store))
		return err_add(r, "a URL begins with '%.*s://'", (int)strcspn(store, ":"), store);
	bool file = *u->below && (!*u->scheme || strcmp(u->scheme, "file") == 0);
	return file && r == -EIO ? err_add(r, "a store is a directory or a zip archive") : r;
}

/* The name that nothing lies below is an object itself, of a store that lists its names: other
 * servers have answers for anything. */
static bool
is_object(const struct mount *m)
{
	const unsigned need_both = ZMAP_REMOTE | ZMAP_LIST;
	struct url u = m->url; /* borrows all of it */
	struct zmap_options o = m->options.zmap;
	struct zmap_stat st;
	const char *slash = strrchr(u.path, '/');
	if ((m->zmap->caps & need_both) != need_both || *u.below || !slash || !slash[1])
		return false;
	CLEAN(clean_free) char *dir = strndup(u.path, (size_t)(slash - u.path));
	CLEAN(zmap_closep) struct zmap *z = NULL;
	u.path = dir;
	o.cache_dir = NULL;
	return dir && zmap_open(&u, &o, &z) == 0 && zmap_stat(z, slash + 1, &st) == 0;
}

/* Ends the listing at the first name. */
static int
any_name(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	*(bool *)arg = true;
	return 1;
}

/* A bucket without keys, or a prefix below which only its own marker lies: a key that ends in '/',
 * by which programs for S3 make folders. */
static bool
is_empty(const struct mount *m)
{
	const unsigned need_both = ZMAP_REMOTE | ZMAP_LIST;
	bool named = false;
	return (m->zmap->caps & need_both) == need_both &&
	       zmap_list(m->zmap, "", any_name, &named) == 0 && !named;
}

int
advice_absent(struct mount *m)
{
	const char *shown = m->url.shown;
	if (is_empty(m))
		return err_set(-ENOENT,
			"'%s' is empty: at most the marker of a folder is there, and no key below "
			"it",
			shown);
	if (is_object(m))
		return is_part(&m->url)
			       ? say_part(shown, -EINVAL)
			       : err_set(-EINVAL, "'%s' is one object, and no Zarr store", shown);
	return err_set(
		-ENOENT, "there is nothing at '%s': no Zarr metadata and no key below it", shown);
}

/* Ends the listing at the first directory. */
static int
is_folder(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	*(size_t *)arg += 1;
	return prefix;
}

/* A directory may stand above stores, however deep; but not one that has no directory in it. Of a
 * far store that would be a request more. */
static void
warn_of_nothing(struct mount *m)
{
	CLEAN(buf_free) struct buf text = {0};
	size_t n = 0;
	if (m->zmap->caps & ZMAP_REMOTE || zmap_list(m->zmap, "", is_folder, &n) != 0)
		return;
	if (buf_addf(&text,
		    n ? "there is no Zarr store in '%s': no Zarr metadata, and no directory"
		      : "there is no Zarr store in '%s': it is empty",
		    m->url.shown) == 0 &&
		buf_terminate(&text) == 0)
		m->options.zmap.warn((char *)text.data);
}

/* Of a server that lists nothing: neither consolidated metadata nor NCZarr's say what is there. */
static void
warn_of_no_names(struct mount *m)
{
	CLEAN(buf_free) struct buf text = {0};
	if (buf_addf(&text,
		    "'%s' has no consolidated metadata, and this kind of store cannot be listed: "
		    "ls fails, and what is in it can be opened by its name",
		    m->url.shown) == 0 &&
		buf_terminate(&text) == 0)
		m->options.zmap.warn((char *)text.data);
}

void
advice_on_root(struct mount *m, const struct node *root)
{
	if (!m->options.zmap.warn)
		return;
	if (root->kind == NODE_PLAIN)
		warn_of_nothing(m);
	if (!(m->zmap->caps & ZMAP_LIST) && root->kind == NODE_GROUP && !root->group->nczarr &&
		!model_has_consolidated(m->model))
		warn_of_no_names(m);
}
