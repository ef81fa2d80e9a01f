/* Which backend opens a store, by the URL. */
#include "store/zmap.h"

#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const struct zmap_ops *
find(const struct zmap_options *options, const char *name, size_t len, bool wraps)
{
	for (const struct zmap_ops *const *o = options->backends; *o; o++)
		if ((*o)->wraps == wraps && strlen((*o)->name) == len &&
			!memcmp((*o)->name, name, len))
			return *o;
	return NULL;
}

/* Before which store does a disk cache belong? The innermost, so that of an archive in another
 * store that one. */
static bool
to_be_cached(const struct url *url, const struct zmap_options *options)
{
	return options->cache_dir && !(url->below && *url->below);
}

int
zmap_open_inner(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	static const char container[] = "container", diskcache[] = "diskcache";
	struct url inner = *url; /* borrows all of it */
	const char *name = url->backend;
	size_t len = strlen(name);
	bool wraps = url->wrappers && *url->wrappers;
	if (options->containers) { /* outermost: what it asks for is what others see */
		wraps = true;
		name = container;
		len = strlen(name);
	} else if (wraps) {
		char *end = strchrnul(url->wrappers, '+');
		name = url->wrappers;
		len = (size_t)(end - name);
		inner.wrappers = *end ? end + 1 : end;
	} else if (to_be_cached(url, options)) {
		wraps = true;
		name = diskcache;
		len = strlen(name);
	}
	const struct zmap_ops *ops = find(options, name, len, wraps);
	if (!ops)
		return err_set(-ENOTSUP, "no %s '%.*s' in this build",
			wraps ? "wrapper" : "kind of store", (int)len, name);
	struct zmap *z;
	int r = ops->open(&inner, options, &z);
	if (r < 0)
		return wraps ? r
			     : err_add(r, "cannot open store '%s'", url->shown ? url->shown : "");
	assert(z->ops); /* perhaps another's: a wrapper may find that it is not needed, a backend
			   leave it to another */
	z->timeout = options->timeout;
	*ret = z;
	return 0;
}

int
zmap_open_by(const char *backend, const struct url *url, const struct zmap_options *options,
	struct zmap **ret)
{
	const struct zmap_ops *ops = find(options, backend, strlen(backend), false);
	return ops ? ops->open(url, options, ret)
		   : err_set(-ENOTSUP, "no kind of store '%s' in this build", backend);
}
