/* The bytes that a place names, checked against what the place says of them. */
#include "backends/container/impl.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void
chunk_place_free(struct chunk_place *p)
{
	if (p->release)
		p->release(p->hold);
	free(p->name);
	free(p->etag);
	free(p->meant);
	free(p->proposal);
	free(p->url);
	*p = (struct chunk_place){0};
}

bool
place_nearer(const char *url, struct span prefix, size_t *longest)
{
	const size_t n = prefix.len;
	if (n <= *longest || strncmp(url, (const char *)prefix.data, n) != 0)
		return false;
	const char *rest = url + n;
	if (prefix.data[n - 1] != '/')
		rest = *rest == '/' ? rest + 1 : "";
	if (*rest)
		*longest = n;
	return *rest;
}

static int
of_bytes(const struct chunk_place *p, const struct zmap_get *g)
{
	uint64_t off;
	size_t len;
	int r = zmap_range(g, p->bytes.len, &off, &len);
	return r == 0 ? buf_add(g->into, p->bytes.data + off, len) : r;
}

static int
fetch_object(struct containers *c, const struct chunk_place *p, const struct zmap_get *g,
	struct zmap_stat *ret)
{
	if (p->kind == PLACE_URL)
		return sources_get(c->sources, p, g, ret);
	struct zmap_get below = *g;
	below.key = p->name;
	below.unplaced = true; /* says nothing of the array's metadata */
	return zmap_get(c->lower, &below, ret);
}

/* All of an object: size and version are the object's, and may change. */
static int
of_object(struct containers *c, const struct chunk_place *p, const struct zmap_get *g,
	struct zmap_stat *ret)
{
	struct zmap_get below = *g;
	below.chunk = NULL;
	below.whole = 0;
	int r = fetch_object(c, p, &below, ret);
	ret->mtime = ret->placed = 0; /* likewise */
	return r;
}

static int
of_range(struct containers *c, const struct chunk_place *p, const struct zmap_get *g,
	struct zmap_stat *ret)
{
	struct zmap_get below = *g;
	struct zmap_stat s = {0};
	uint64_t off;
	size_t len, before = g->into->len;
	int r = zmap_range(g, p->len, &off, &len);
	if (r < 0 || !len)
		return r;
	below.chunk = NULL;
	below.off = p->off + off;
	below.len = below.max = len;
	below.from_end = false;
	below.whole = 0;
	if (*p->version)
		below.if_match = below.if_none_match = NULL;
	r = fetch_object(c, p, &below, &s);
	size_t got = g->into->len - before;
	if (r == 0 && got != len)
		r = err_set(-EIO,
			"'%s' has %zu of the %zu bytes at %" PRIu64 " that a reference means",
			p->name, got, len, below.off);
	if (!*ret->version)
		memcpy(ret->version, s.version, sizeof ret->version);
	return r;
}

/* Where the URL leads. What the container knows of it is asked for only where the user permitted
 * nothing of it. */
static int
find_url(
	struct containers *c, struct container *of, const struct zmap_get *g, struct chunk_place *p)
{
	int r = sources_find(c->sources, p);
	if (r < 0 || p->source || !of->ops->explain)
		return r;
	r = of->ops->explain(of, g->deadline, g->cancel, p);
	return r == 0 && p->meant ? sources_find(c->sources, p) : r;
}

int
container_chunk(struct containers *c, struct container *of, const struct zmap_chunk *chunk,
	const struct zmap_get *g, struct zmap_stat *ret)
{
	CLEAN(chunk_place_free) struct chunk_place p = {0};
	int r = of->ops->locate(of, chunk, g->deadline, g->cancel, &p);
	if (r == 0 && p.kind == PLACE_URL)
		r = find_url(c, of, g, &p); /* before the version is copied, which it may change */
	if (r != 0)
		return r;
	memcpy(ret->version, p.version, sizeof ret->version);
	ret->size = p.kind == PLACE_BYTES ? p.bytes.len : p.len;
	if (*p.version)
		r = zmap_condition(g, p.version);
	if (r != 0)
		return r;
	r = p.kind == PLACE_BYTES ? of_bytes(&p, g)
	    : p.len               ? of_range(c, &p, g, ret)
				  : of_object(c, &p, g, ret);
	if (r == ZMAP_ABSENT || r == -ENOENT)
		r = err_set(-EIO, "'%s' that a reference means is not there", p.name);
	return r;
}
