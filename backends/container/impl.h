/* What container.c (which keys belong to which array), container_chunk.c (the bytes that a place
 * names) and container_sources.c (URLs that the user permitted) share. No other file includes
 * it. */
#pragma once

#include "backends/container/container.h"

/* Where a container lies. Immutable once made; lives as long as the store. */
struct site {
	struct site *next;
	struct container *container;
	size_t len;  /* of root */
	char root[]; /* "" or "a/b/" */
};

struct sources;

struct containers {
	struct zmap z;
	struct zmap *lower;
	struct sources *sources;
	struct zmap_options options;
	char *ref;                /* or NULL */
	char *name;               /* of the store */
	char *home;               /* as in container_env */
	struct container_env env; /* for those to be opened; root is filled in */

	pthread_mutex_t entering; /* held while a container is opened, so that each is opened once:
				     guards no field */
	pthread_mutex_t lock;     /* guards sites */
	struct site *sites;
};

/* A chunk of a container, for zmap_get. */
int container_chunk(struct containers *, struct container *, const struct zmap_chunk *,
	const struct zmap_get *, struct zmap_stat *ret);

int sources_new(const struct zmap_options *, struct sources **ret);
/* Does it cost a round trip to read what they permit? */
bool sources_remote(const struct sources *);
struct sources *sources_free(struct sources *); /* NULL allowed; returns NULL */
/* Of a place at a URL: fills in url and source, by what its name means where that is known, else by
 * the name. -EIO: it is no URL. */
int sources_find(struct sources *, struct chunk_place *);
/* The range of the URL that was found, as the request wants it: off and len are of the object, len
 * > 0. Appended to g->into. -EACCES with the option that would permit it; -EIO: it is not there, or
 * not what was referred to. */
int sources_get(struct sources *, const struct chunk_place *, const struct zmap_get *,
	struct zmap_stat *ret);
