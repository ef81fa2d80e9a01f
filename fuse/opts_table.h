/* The table of options: what is parsed, said by --help and shown in `.zarrfs/config`. */
#pragma once

#include "fuse/value.h"

#include <stddef.h>

enum option_kind {
	KIND_FLAG,
	KIND_UNDO,    /* of the flag at the same place */
	KIND_VALUE,   /* parsed by .parse */
	KIND_TEXTS,   /* a text each time that it is said */
	KIND_IGNORED, /* other file systems' and fstab's: accepted, without effect here */
	KIND_IGNORED_VALUE,
	KIND_REFUSED, /* help says why */
};

struct option_def {
	const char *name;
	enum option_kind kind;
	const struct value *value; /* how the text becomes a number and back */
	const char *standard;      /* the default, as a user would write it; NULL: help tells */
	size_t at;                 /* the int64_t in struct opts; of texts: the array of them */
	const char *help;
};

/* Ends with one without a name. */
const struct option_def *opts_table(void);
/* What an option is called here that other programs call by the len letters of a word; NULL: none
 * is known. */
const char *opts_table_meant(const char *word, size_t len);
