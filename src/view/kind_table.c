/* The kinds of files that a writable mount has. */
#include "view/kind.h"

const struct file_kind *const kind_table[] = {
	&kind_flat,
	&kind_image,
	&kind_scratch,
	NULL,
};
