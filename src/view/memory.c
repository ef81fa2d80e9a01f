/* What a mount takes of the memory beside its caches. */
#include "view/state.h"

void
mount_count_memory(struct mount *m)
{
	data_set_other(m->data, m->zmap,
		model_bytes(m->model) + layouts_bytes(m) + pictures_bytes(m) + variables_bytes(m));
}
