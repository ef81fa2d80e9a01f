/* modeldump STORE...: prints what the model makes of each store's metadata, as ncdump -h would. */
#include "dump.h"

#include "base/url.h"

static int
dump(const char *store)
{
	struct url u;
	struct zmap *z = NULL;
	struct model *m = NULL;
	int r = url_parse(store, &u);
	if (r < 0)
		return r;
	const struct zmap_options zo = {.timeout = 60 * SECOND};
	r = zmap_open(&u, &zo, &z);
	const struct model_options mo = {
		.ttl = 60 * SECOND, .timeout = 60 * SECOND, .mode = u.mode};
	if (r == 0)
		r = model_open(z, &mo, &m);
	if (r == 0)
		dump_group(m, stdout, "", 0);
	model_close(m);
	zmap_close(z);
	url_free(&u);
	return r;
}

int
main(int argc, char **argv)
{
	int status = 0;
	for (int i = 1; i < argc; i++) {
		if (argc > 2)
			printf("== %s\n", argv[i]);
		if (dump(argv[i]) < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], err_text());
			status = 1;
		}
	}
	return status;
}
