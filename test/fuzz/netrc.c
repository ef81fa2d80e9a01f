/* ~/.netrc: the first line is the host that is looked for. */
#include "backends/net/netrc.h"

#include "base/clean.h"
#include "store/zmap.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(buf_free) struct buf found = {0};
	const uint8_t *nl = memchr(data, '\n', size);
	CLEAN(clean_free) char *host = nl ? strndup((const char *)data, (size_t)(nl - data)) : NULL;
	if (!host)
		return 0;
	const struct span text = {nl + 1, size - (size_t)(nl + 1 - data)};
	int r = netrc_find(text, host, &found);
	assert(r == 0 || r == ZMAP_ABSENT);
	assert(r == 0 ? memchr(found.data, ':', found.len) != NULL : !found.len);
	return 0;
}
