#include "view/image/image_stage.h"

#include "base/check.h"
#include "base/list.h"

#include <errno.h>
#include <string.h>

void
image_stage_free(struct image_stage *l)
{
	free(l->of);
	buf_free(&l->packed);
}

static int
guarded(const struct image_form *form, size_t var)
{
	return err_set(-EINVAL,
		"the values of '%s' are other variables' too: write it, or dataset.nc",
		form->file.var[var].name);
}

int
image_stage_atoms(struct image_stage *l, size_t var, uint64_t in, struct span bytes, bool under)
{
	const struct image_source *s = &l->form->source[var];
	CLEAN(buf_free) struct buf packed = {0};
	if (s->guarded)
		return guarded(l->form, var);
	int r = image_form_undo(l->form, var, in, bytes, &packed);
	if (r == 0)
		r = LIST_ADD(l->of, l->n, "elements",
			(struct image_staged){var, in / s->convert.atom_out,
				bytes.len / s->convert.atom_out, l->packed.len, under});
	return r < 0 ? r : buf_add(&l->packed, packed.data, packed.len);
}

int
image_stage_changed(
	struct image_stage *l, size_t var, uint64_t in, struct span bytes, const uint8_t *shown)
{
	const size_t size = l->form->source[var].convert.atom_out;
	size_t from = 0;
	int r = 0;
	while (from < bytes.len && r == 0) {
		size_t to = from;
		if (!shown)
			to = bytes.len;
		while (to < bytes.len && memcmp(bytes.data + to, shown + to, size) != 0)
			to += size;
		if (to > from)
			r = image_stage_atoms(l, var, in + from,
				(struct span){bytes.data + from, to - from}, false);
		from = max_u64(to, from + size);
	}
	return r;
}

int
image_stage_store(struct image_stage *l, const struct image_store *store, void *arg,
	const struct array_want *how)
{
	int r = 0;
	for (size_t i = 0; i < l->n && r == 0; i++) {
		const struct image_staged *s = &l->of[i];
		const struct convert *c = &l->form->source[s->var].convert;
		const struct span packed = {l->packed.data + s->at, (size_t)(s->n * c->atom_in)};
		struct array_want w = *how;
		w.under = s->under;
		r = image_form_write(l->form, s->var, s->atom, packed, store, arg, &w);
	}
	return r;
}
