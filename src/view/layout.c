#include "view/variable.h"
#include "view/view.h"

#include "base/check.h"

#include <errno.h>

int
layout_new(uint64_t version, struct layout **ret)
{
	struct layout *l = calloc(1, sizeof *l);
	if (!l)
		return err_set(-ENOMEM, "no memory for a layout");
	atomic_init(&l->refs, 1);
	l->version = version;
	*ret = l;
	return 0;
}

static void
span_free(struct layout_span *s)
{
	variable_unref(s->variable);
	dtype_free(&s->swap);
	free(s->text);
}

/* Takes over what the span owns. */
static int
add_span(struct layout *l, struct layout_span *s)
{
	s->start = l->size;
	uint64_t size;
	if (add_over(l->size, s->length, &size) || size > INT64_MAX) {
		span_free(s);
		return err_set(-EFBIG, "a file of more than %lld bytes", (long long)INT64_MAX);
	}
	/* Room grows by doubling: at each power of two. */
	if ((l->nspans & (l->nspans - 1)) == 0) {
		size_t room = l->nspans ? 2 * l->nspans : 1;
		struct layout_span *more = realloc(l->span, room * sizeof *more);
		if (!more) {
			span_free(s);
			return err_set(-ENOMEM, "no memory for a layout");
		}
		l->span = more;
	}
	l->span[l->nspans++] = *s;
	l->size = size;
	return 0;
}

int
layout_add_variable(struct layout *l, struct variable *v, const struct dtype *swap)
{
	struct layout_span s = {
		.length = array_bytes(v->array),
		.variable = v,
		.convert = swap ? CONVERT_SWAP : CONVERT_NONE,
	};
	int r = swap ? dtype_copy(swap, &s.swap) : 0;
	if (r < 0) {
		variable_unref(v);
		return r;
	}
	return add_span(l, &s);
}

int
layout_add_text(struct layout *l, char *text, uint64_t length)
{
	return add_span(l, &(struct layout_span){.length = length, .text = text});
}

struct layout *
layout_ref(struct layout *l)
{
	atomic_fetch_add(&l->refs, 1);
	return l;
}

struct layout *
layout_unref(struct layout *l)
{
	if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
		return NULL;
	for (size_t i = 0; i < l->nspans; i++)
		span_free(&l->span[i]);
	free(l->span);
	free(l);
	return NULL;
}
