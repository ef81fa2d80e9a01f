/* The files .ncrc, .daprc and .dodsrc of netcdf-c: lines KEY=VALUE, or
 * [https://host:port/path]KEY=VALUE for some stores. In the home directory and in the present one,
 * the latter winning; NCRCENV_RC names the only one, NCRCENV_IGNORE none at all, and NCRCENV_HOME
 * another home. Of lines for one key that with the longest fitting place counts, then the last. */
#pragma once

#include <stddef.h>

struct ncrc_want {
	const char *host, *path; /* of the store: "host:port" or bucket, "/path" */
	const char *key;         /* any case */
};

/* The value that a file of these bytes has, or NULL. Length of the place it stands for in
 * *ret_place. Caller frees. */
char *ncrc_find(const char *text, size_t len, const struct ncrc_want *, size_t *ret_place);
/* From the user's files. NULL: not there. Caller frees. */
char *ncrc_get(const struct ncrc_want *);
