/* The files ~/.aws/config and ~/.aws/credentials, as the AWS command line reads them. No line makes
 * a file unreadable: what makes no sense is passed over, as others do. Any thread may call. */
#pragma once

#include <stddef.h>

/* One setting. Texts are not terminated; they point into the file's. */
struct ini_entry {
	const char *section; /* "default", "profile x", between the brackets, without blanks around
				it */
	size_t section_len;
	const char *parent; /* of an indented line: the setting it belongs to ("s3"), else NULL */
	size_t parent_len;
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
};

/* Returns 0 to go on; anything else is returned. */
typedef int ini_fn(void *arg, const struct ini_entry *);
int ini_parse(const char *text, size_t len, ini_fn *fn, void *arg);
