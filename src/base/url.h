/* Where a store is: a path or URL with NCZarr's fragment, taken apart. The rules are those of the README's
 * table of stores and of netcdf-c's URLs (fragment `#mode=zarr,s3&aws.profile=…`). Owned by the caller. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum url_mode {
	URL_NCZARR = 1 << 0,
	URL_ZARR = 1 << 1,
	URL_XARRAY = 1 << 2,
	URL_NOXARRAY = 1 << 3,
	URL_V2 = 1 << 4,
	URL_V3 = 1 << 5,
	URL_FILE = 1 << 6,
	URL_ZIP = 1 << 7,
	URL_S3 = 1 << 8,
	URL_GS3 = 1 << 9,
	URL_CONSOLIDATED = 1 << 10,
	URL_BYTES = 1 << 11,
};

struct url_pair {
	char *key, *value;
};

struct url {
	char *wrappers; /* "fault", "trace" … before '+', joined by '+', outermost first; "" if none */
	char *backend;  /* which entry of the backend table: dir, zip, s3, http, mem */
	char *scheme;   /* as written, lower case; "" for a plain path */
	char *host;     /* "" if none; with port if given */
	char *path;     /* decoded; absolute for files */
	unsigned mode;  /* enum url_mode */
	struct url_pair *pair; /* the fragment's other members, and the wrappers' options */
	size_t npairs;
	char *shown;    /* for df, mount and messages: no user information, no query, no secrets */
};

/* -EINVAL with a text that says what is wrong: contradiction, unknown word, secret in the URL. */
int url_parse(const char *store, struct url *ret);
void url_free(struct url *);
/* Value of a fragment key, or NULL. */
const char *url_get(const struct url *, const char *key);
