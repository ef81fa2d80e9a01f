/* Where a bucket is: which host is asked, under which path, for which region requests are signed.
 * Worked out from the URL and from what else was said; nothing is asked here. Immutable; any thread
 * may call. */
#pragma once

#include "base/buf.h"
#include "store/zmap.h"

struct address_wishes {
	const char *endpoint; /* "https://host:port/path", "host"; NULL or "": the URL's, else
				 Amazon's or Google's own */
	const char *region;   /* NULL or "": what the host says, else us-east-1 */
	enum zmap_addressing addressing;
};

struct address {
	bool google; /* Google's store, or what stands in for it */
	bool amazon; /* the host follows from the region, but where it was named and the region
			still is the first one */
	bool virtual_host; /* the bucket is part of the host's name, else of the path */
	bool plain_http;
	char *host;   /* of the endpoint, with port, without bucket; NULL: Amazon's */
	char *path;   /* of the endpoint: "" or "/x" */
	char *bucket; /* as it is, not encoded */
	char *prefix; /* of the store's keys: "" or "a/b/" */
	char *region; /* to begin with */
};

/* 0, or -EINVAL with the reason. */
int address_find(const struct url *, const struct address_wishes *, struct address *ret);
void address_free(struct address *);

/* Appends "https://host/path" up to and without the '/' before a key, encoded. 0 or -ENOMEM. */
int address_base(const struct address *, const char *region, struct buf *ret);
/* Appends the value of the Host header. 0 or -ENOMEM. */
int address_host(const struct address *, const char *region, struct buf *ret);
/* Appends the path of a key below prefix ("" for the bucket itself), encoded, with its first '/':
 * what is signed. 0 or -ENOMEM. */
int address_path(const struct address *, const char *key, struct buf *ret);
/* Could this be the name of a region? It becomes part of a host's name. */
bool address_is_region(const char *);
