/* Atoms of a file that are to go to its variables: first it is found out whether each can, then all
 * are stored. An empty list is {.form = …}. */
#pragma once

#include "view/image/image_form.h"

struct image_staged {
	size_t var;
	uint64_t atom, n;
	size_t at; /* of the first one, in the list's bytes */
	bool under;
};

struct image_stage {
	const struct image_form *form;
	struct image_staged *of;
	size_t n;
	struct buf packed; /* as they are stored */
};

void image_stage_free(struct image_stage *); /* what it holds, not itself */
/* Atoms of the file, the first of which begins at byte `in` of the variable. under: for rows in
 * which no other writer has stored anything. -ERANGE: an element cannot have such a value. */
int image_stage_atoms(struct image_stage *, size_t var, uint64_t in, struct span bytes, bool under);
/* Those of them that differ from what is shown, of which there is none where it is NULL. */
int image_stage_changed(
	struct image_stage *, size_t var, uint64_t in, struct span bytes, const uint8_t *shown);
int image_stage_store(
	struct image_stage *, const struct image_store *, void *arg, const struct array_want *how);
