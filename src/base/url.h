/* Where a store is: a path or URL with NCZarr's fragment, taken apart. The rules are those of the
 * README's table of stores and of netcdf-c's URLs (fragment `#mode=zarr,s3&aws.profile=…`). Owned
 * by the caller. */
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
	URL_KERCHUNK = 1 << 12,
};

struct url_pair {
	char *key, *value;
};

struct url {
	char *wrappers; /* "fault", "trace" … before '+', joined by '+', outermost first; "" if
			   none */
	char *backend;  /* which entry of the backend table: dir, zip, kerchunk_file, s3, http,
			   mem */
	char *below;    /* zip, kerchunk_file: the one that the file lies in; else "" */
	char *scheme;   /* as written, lower case; "" for a plain path */
	char *host;     /* or bucket; with port if given; "" if none */
	char *path; /* decoded, no '/' at its end. Files: absolute and tidy. Hosts and buckets: with
		       its first '/', or "". mem: its name */
	char *query;   /* of http and https, as written without '?'; "" if none; never a secret */
	unsigned mode; /* enum url_mode: what the fragment says, nothing inferred */
	struct url_pair *pair; /* the fragment's other members, keys in lower case, and the
				  wrappers' options ("fault.kind") */
	size_t npairs;
	char *shown; /* for df, mount and messages: the URL without its query, or an absolute path;
			no secrets */
};

/* A store with "scheme://", and "file:/…" and "mem:…", is a URL, where %XX stands for a byte. All
 * else is a path, and every character of it counts, but for "#branch=…", "#tag=…" and "#snapshot=…"
 * at the end of a path that is not there. Nothing is looked up but that, and whether a file is a
 * directory, an archive or references. -EINVAL with a text that says what is wrong: contradiction,
 * unknown word, secret in the URL (which the text does not repeat). */
int url_parse(const char *store, struct url *ret);
/* Of a store that is one file: the store that the file lies in, which begins where the last '/' is.
 * ret borrows all of the URL, which outlives it, but for its path, the caller's *ret_parent.
 * ret_name: the file, in the URL's path. what: "archive", for messages. -EINVAL: there is no name;
 * -ENOMEM. */
int url_beside(const struct url *, const char *what, struct url *ret, char **ret_parent,
	const char **ret_name);
/* What the one variable of a store that is a single array is called: the last part of where it is.
 * The caller's to free; NULL: no memory. */
char *url_name(const struct url *);
void url_free(struct url *);
/* Value of a fragment key ("" where it has none), or NULL. */
const char *url_get(const struct url *, const char *key);
