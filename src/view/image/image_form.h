/* A netCDF classic file by its header: which of its bytes belong to which variable. What it says of
 * variables is kept with where their elements are; bytes of the file are made of these and back.
 * Immutable once it is made, but for names that become others in the store too; the owner of the
 * elements is asked by a table. */
#pragma once

#include "data/array.h"
#include "view/netcdf/nc_axes.h"
#include "view/netcdf/nc_file.h"
#include "view/convert.h"

/* Where the elements of a variable are. */
struct image_source {
	void *target; /* the owner's; NULL: nowhere, the file shows places along an axis, or
			 zeros */
	struct nc_axis axis;
	struct convert convert; /* owned */
	bool guarded;           /* what it holds may only grow: others use it too */
	uint64_t rows; /* under a header by which it grows: how many others have made by now */
};

struct image_form {
	struct nc_file file;
	struct buf header;           /* its bytes in the file */
	struct image_source *source; /* file.nvars of them */
	size_t *fixed, *repeated; /* variables by where they lie; those that repeat in a record */
	size_t nfixed, nrepeated;
	uint64_t size; /* where the last variable ends */
};

/* What has the elements. how: deadline, cancel and since. */
struct image_store {
	/* Bytes of elements as they are stored, in their order. */
	int (*read)(void *arg, void *target, const struct array_want *how, uint64_t off, size_t len,
		uint8_t *to);
	int (*write)(void *arg, void *target, const struct array_want *how, uint64_t off,
		struct span bytes);
	/* The target is used no more. */
	void (*let_go)(void *arg, void *target);
};

/* Takes over the file (which becomes empty) and its sources, file.nvars of them or NULL: nowhere
 * yet. On failure nothing is taken. */
int image_form_new(
	struct nc_file *, struct span header, struct image_source *, struct image_form **ret);
struct image_form *image_form_free(struct image_form *, const struct image_store *,
	void *arg); /* NULL allowed; returns NULL */

/* Where elements are is not known any more. */
void image_form_unbind(struct image_form *, const struct image_store *, void *arg);

enum image_owner { IMAGE_HEADER, IMAGE_GAP, IMAGE_DATA };

/* Bytes that lie side by side in the file. */
struct image_piece {
	enum image_owner owner;
	size_t var; /* IMAGE_DATA: the variable's number; … */
	uint64_t
		in; /* … and which of its bytes the first one is, all records one after the other */
	uint64_t left; /* how many follow, the first included */
};

struct image_piece image_form_at(const struct image_form *, uint64_t off);
/* The place in the file of a byte of a variable, and how many follow there. */
uint64_t image_form_place(const struct image_form *, size_t var, uint64_t in, uint64_t *ret_left);
/* Bytes of the variable, all records. */
uint64_t image_form_bytes(const struct image_form *, size_t var);
/* Does the variable lie in the same places in both? */
bool image_form_agree(
	const struct image_form *, size_t var, const struct image_form *, size_t other);

/* Bytes [off, off + len) of the file; zeros where it has none. */
int image_form_read(const struct image_form *, const struct image_store *, void *arg,
	const struct array_want *want, uint8_t *to);
/* Bytes of one variable, from byte `want->off` of its own on. */
int image_form_read_var(const struct image_form *, size_t var, const struct image_store *,
	void *arg, const struct array_want *want, uint8_t *to);
/* Whole atoms of a variable, of which the first begins at byte `in` of it, as they are stored,
 * packed. -ERANGE. */
int image_form_undo(
	const struct image_form *, size_t var, uint64_t in, struct span bytes, struct buf *ret);
/* Stores what image_form_undo made of so many atoms, of which the first is number `atom`. */
int image_form_write(const struct image_form *, size_t var, uint64_t atom, struct span packed,
	const struct image_store *, void *arg, const struct array_want *how);
