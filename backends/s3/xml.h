/* What S3 and its relatives answer in XML: listings, errors, credentials. Bytes in, texts out;
 * documents with a DOCTYPE are refused, so there are no entities to expand. Any thread may call. */
#pragma once

#include "base/buf.h"
#include "store/zmap.h"

enum { XML_TEXT = 8192 };

/* An element to look for, and the text of the first one of that name, wherever it is. Cut at
 * XML_TEXT bytes; "" if there is none. */
struct xml_field {
	const char *name;
	char text[XML_TEXT];
};

/* 0, or -EINVAL: not XML (what was found before is there). */
int xml_fields(struct span document, struct xml_field *, size_t n);

/* One page of ListObjectsV2. */
struct xml_page {
	bool truncated; /* more behind `next` */
	char *next;     /* the token of the next page, or NULL. Owned by the caller. */
	size_t entries; /* how many were told */
	size_t seen; /* elements that name a key or prefix, also those that are no entries, such as
			the prefix itself */
};

/* Tells each key and prefix, without the first `skip` bytes of its name, which are the prefix that
 * was asked for, and without the '/' behind a prefix. 0, what fn returned if not 0, -EIO: not such
 * a page, -ENOMEM. */
int xml_list(
	struct span page, const char *prefix, zmap_list_fn *fn, void *arg, struct xml_page *ret);
