/* The backends of this build. */
#include "store/zmap.h"

int
zmap_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	struct zmap_options o = *options;
	o.backends = backend_table;
	return zmap_open_inner(url, &o, ret);
}
