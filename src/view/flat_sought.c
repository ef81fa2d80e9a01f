/* Rows that are stored, before metadata count them: are they still there? */
#include "view/flat_share.h"

#include "base/check.h"
#include "view/flat.h"
#include "view/state.h"

#include <errno.h>

/* The array as the model knows it, by which is seen whether it is rewritten: the edit may have read
 * more rows. One that cannot be opened has no rows of this mount. */
int
flat_find_rows(const struct node *now, void *arg)
{
	const struct flat_sought *s = arg;
	const uint64_t rows = max_u64(s->rows, now->array->shape[0]);
	CLEAN(variable_unrefp) struct variable *v = NULL;
	CLEAN(node_unrefp) struct node *known = NULL;
	uint32_t width = 0;
	if (!data_has_rows(s->mount->data))
		return 0;
	model_seen(s->mount->model, now->path, 0, &known);
	const struct node *n = known && known->array && known->array->rank ? known : now;
	int r = flat_file_width(s->mount, n, &width);
	if (r == 0)
		r = variable_grown(s->mount, n, rows, width, &v);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return array_find_rows(v->array, rows, now->document, s->cancel);
}
