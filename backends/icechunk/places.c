#include "backends/icechunk/places.h"

#include "base/err.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PLACES_MAX = 1024, TEXT_MAX = 4096 };

struct place {
	struct place *next;
	char *prefix;          /* in the one form of URLs */
	struct ice_place says; /* of text */
	uint8_t text[];
};

struct ice_places {
	size_t count;
	struct place *first, **last;
};

/* --- of a configuration --- */

/* A text that is too long, or has NUL or what ends lines, is as good as none. */
static struct span
usable(struct span s)
{
	if (s.len > TEXT_MAX)
		s.len = 0;
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] < ' ' || s.data[i] == 0x7f)
			s.len = 0;
	return s;
}

static struct span
copy(struct span s, uint8_t **at)
{
	const struct span here = {*at, s.len};
	if (s.len)
		memcpy(*at, s.data, s.len);
	*at += s.len;
	return here;
}

static struct place *
place_free(struct place *k)
{
	if (k)
		free(k->prefix);
	free(k);
	return NULL;
}

/* 0; -EINVAL: it is no URL. */
static int
find_prefix(struct place *k)
{
	CLEAN(clean_free)
	char *prefix = strndup((const char *)k->says.prefix.data, k->says.prefix.len);
	return prefix ? place_canonical(prefix, &k->prefix)
		      : err_set(-ENOMEM, "no memory for a URL");
}

int
ice_places_add(struct ice_places *p, const struct ice_place *said)
{
	const struct span name = usable(said->name), prefix = usable(said->prefix),
			  region = usable(said->region), endpoint = usable(said->endpoint);
	if (!prefix.len || p->count == PLACES_MAX)
		return 0;
	struct place *k = calloc(1, sizeof *k + name.len + prefix.len + region.len + endpoint.len);
	if (!k)
		return err_set(-ENOMEM, "no memory for a configuration");
	uint8_t *at = k->text;
	k->says.name = copy(name, &at);
	k->says.prefix = copy(prefix, &at);
	k->says.region = copy(region, &at);
	k->says.endpoint = copy(endpoint, &at);
	k->says.anonymous = said->anonymous;
	int r = find_prefix(k);
	if (r < 0) {
		place_free(k);
		return r == -EINVAL ? 0 : r;
	}
	*p->last = k;
	p->last = &k->next;
	p->count++;
	return 0;
}

static void
forget(struct ice_places *p)
{
	for (struct place *k; (k = p->first);) {
		p->first = k->next;
		place_free(k);
	}
	p->count = 0;
	p->last = &p->first;
}

int
ice_places_new(ice_config_fn *read, struct span config, struct ice_places **ret)
{
	struct ice_places *p = calloc(1, sizeof *p);
	if (!p)
		return err_set(-ENOMEM, "no memory for a configuration");
	p->last = &p->first;
	int r = config.len ? read(config, p) : 0;
	if (r < 0)
		forget(p);
	if (r == -ENOMEM) {
		ice_places_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

struct ice_places *
ice_places_free(struct ice_places *p)
{
	if (p)
		forget(p);
	free(p);
	return NULL;
}

/* --- of a chunk --- */

/* Does a URL in its one form lie in there? What leads out of its place again is in none. */
static bool
is_nearer(const char *url, const struct place *k, size_t *longest)
{
	const struct span prefix = {(const uint8_t *)k->prefix, strlen(k->prefix)};
	return !strstr(url, "/..") && place_nearer(url, prefix, longest);
}

static const struct place *
around(const struct ice_places *p, const char *url)
{
	const struct place *best = NULL;
	size_t longest = 0;
	for (const struct place *k = p->first; k; k = k->next)
		if (is_nearer(url, k, &longest))
			best = k;
	return best;
}

static const struct place *
named(const struct ice_places *p, const char *name, size_t len)
{
	for (const struct place *k = p->first; k && len; k = k->next)
		if (k->says.name.len == len && !memcmp(k->says.name.data, name, len))
			return k;
	return NULL;
}

/* "s3://bucket/prefix/", with what the repository says of it. */
static int
propose(const struct ice_place *at, struct chunk_place *ret)
{
	const bool more = at->region.len || at->endpoint.len || at->anonymous;
	CLEAN(buf_free) struct buf b = {0};
	int r = place_encode(&b, (const char *)at->prefix.data, at->prefix.len, ",");
	if (r == 0 && more)
		r = buf_addf(&b, " (the repository says:%s%.*s%s%.*s%s)",
			at->region.len ? " region " : "", (int)at->region.len,
			(const char *)at->region.data, at->endpoint.len ? " endpoint " : "",
			(int)at->endpoint.len, (const char *)at->endpoint.data,
			at->anonymous ? " anonymous" : "");
	ret->proposal = r == 0 ? strndup((const char *)b.data, b.len) : NULL;
	return ret->proposal ? 0 : err_set(-ENOMEM, "no memory for a URL");
}

/* "vcc://NAME/REST" */
static int
expand(const struct ice_place *at, const char *rest, struct chunk_place *c)
{
	const bool ends = at->prefix.data[at->prefix.len - 1] == '/';
	if (asprintf(&c->meant, "%.*s%s%s", (int)at->prefix.len, (const char *)at->prefix.data,
		    ends ? "" : "/", rest) < 0) {
		c->meant = NULL;
		return err_set(-ENOMEM, "no memory for a URL");
	}
	uint64_t h = hash_text(hash_text(HASH_START, c->version), c->meant);
	snprintf(c->version, sizeof c->version, "c%016" PRIx64 "-%" PRIx64 "-%" PRIx64, h, c->off,
		c->len);
	return 0;
}

/* What a URL that begins with "vcc://" names; NULL: nothing. */
static const struct place *
find_named(const struct ice_places *p, const char *name, const char **rest)
{
	const char *slash = strchr(name, '/');
	*rest = slash ? slash + 1 : NULL;
	return slash ? named(p, name, (size_t)(slash - name)) : NULL;
}

int
ice_places_apply(const struct ice_places *p, struct chunk_place *c)
{
	static const char vcc[] = "vcc://";
	CLEAN(clean_free) char *url = NULL;
	const char *rest;
	size_t longest = 0;
	if (!p || c->kind != PLACE_URL)
		return 0;
	const bool by_name = !strncmp(c->name, vcc, sizeof vcc - 1);
	const struct place *at = by_name ? find_named(p, c->name + sizeof vcc - 1, &rest) : NULL;
	int r = at ? expand(&at->says, rest, c) : 0;
	if (r == 0 && (at || !by_name))
		r = place_canonical(at ? c->meant : c->name, &url);
	if (!url)
		return r == -EINVAL ? 0 : r;
	if (at)
		return is_nearer(url, at, &longest) ? propose(&at->says, c) : 0;
	at = around(p, url);
	return at ? propose(&at->says, c) : 0;
}
