/* Hostile answers of S3: listings, errors, credentials. */
#include "backends/s3/provider.h"
#include "backends/s3/xml.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
look(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	if (!*name || (s && strlen(s->version) >= sizeof s->version))
		abort();
	return ++*(int *)arg > 100;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct xml_field f[2] = {{.name = "Code"}, {.name = "Region"}};
	const struct span s = {data, size};
	struct xml_page p = {0};
	struct s3_keys *k = NULL;
	int count = 0;
	xml_list(s, size > 100 ? "a/" : "", look, &count, &p);
	free(p.next);
	xml_fields(s, f, 2);
	if (memchr(f[0].text, 0, XML_TEXT) == NULL)
		abort();
	provider_read_xml(s, &k);
	keys_unref(k);
	return 0;
}
