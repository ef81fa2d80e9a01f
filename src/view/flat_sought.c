/* Rows that are stored, before metadata count them: are they still there? */
#include "view/flat_share.h"

#include "base/check.h"
#include "base/list.h"
#include "model/edit.h"
#include "view/flat.h"
#include "view/state.h"

#include <errno.h>

struct sought {
	struct mount *mount;
	uint64_t rows;
	struct cancel *cancel;
	struct variable **found; /* arrays of which all rows were; a reference each */
	size_t n;
};

/* The array as the model knows it, by which is seen whether it is rewritten: the edit may have read
 * more rows. One that cannot be opened has no rows of this mount. */
static int
find(const struct node *now, void *arg)
{
	struct sought *s = arg;
	const uint64_t rows = max_u64(s->rows, now->array->shape[0]);
	CLEAN(variable_unrefp) struct variable *v = NULL;
	CLEAN(node_unrefp) struct node *known = NULL;
	uint32_t width = 0;
	if (!data_has_rows(s->mount->data))
		return 0;
	model_seen(s->mount->model, now->path, 0, &known);
	const struct node *n = known && known->array && known->array->rank ? known : now;
	int r = flat_file_width(s->mount, n, &width);
	if (r < 0)
		return r;
	r = variable_grown(s->mount, n, rows, width, &v);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = array_find_rows(v->array, rows, now->document, s->cancel);
	if (r == 0)
		r = LIST_MORE(s->found, s->n, "arrays");
	if (r == 0)
		s->found[s->n++] = MOVE(v);
	return r;
}

/* counted: so many rows are, by metadata that this mount has stored since; 0: none. */
static void
done(struct sought *s, uint64_t counted)
{
	for (size_t i = 0; i < s->n; i++) {
		array_rows_counted(s->found[i]->array, counted);
		variable_unref(s->found[i]);
	}
	free(s->found);
}

int
flat_commit_rows(struct mount *m, struct edit *e, uint64_t rows, struct cancel *cancel)
{
	struct sought s = {.mount = m, .rows = rows, .cancel = cancel};
	edit_check(e, find, &s);
	const int r = edit_commit(e, clock_now() + m->options.data.timeout, cancel);
	done(&s, r == 0 ? edit_lead(e) : 0);
	return r;
}

int
flat_find_counted(struct mount *m, const struct array *a, const struct node *n, uint64_t rows,
	struct cancel *cancel)
{
	struct sought s = {.mount = m, .rows = rows, .cancel = cancel};
	const int r = array_has_rows(a) ? find(n, &s) : 0;
	done(&s, 0);
	return r;
}
