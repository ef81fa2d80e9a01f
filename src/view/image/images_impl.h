/* The inside of open images, for images.c (the table of them) and images_taken.c (those of files
 * that were written elsewhere). No other file includes it. */
#pragma once

#include "view/image/images.h"

/* Bytes that may wait in an image. */
size_t images_most(const struct mount *);
/* The form of the file that the view makes of the node. *ret_version: of its layout. */
int images_make_form(struct mount *, const struct node *, const struct view_ops *,
	struct open_image *, struct image_start *ret, uint64_t *ret_version);
/* Takes over the form, also when it fails. */
int images_start_image(struct image_start *, struct open_image *);
void images_free_image(struct open_image *); /* NULL allowed */
