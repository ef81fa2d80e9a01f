/* Hostile dtypes and fill values: "DTYPE\nFILL_VALUE", both JSON. */
#include "model/dtype.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ELEMENTS = 3, BYTES_MAX = 1 << 16 };

static void
use(const struct dtype *d, const struct json *value)
{
	bool null_fill;
	uint8_t *elements =
		calloc(ELEMENTS, d->size ? d->size : 1); /* exactly, for the sanitizer */
	uint8_t *before = calloc(1, d->size ? d->size : 1);
	if (!elements || !before)
		abort();
	dtype_fill_nczarr(d, value, elements, &null_fill);
	dtype_fill_v2(d, value, elements, &null_fill);
	memcpy(before, elements, d->size);
	dtype_swap(d, elements, ELEMENTS);
	dtype_swap(d, elements, ELEMENTS);
	if (memcmp(before, elements, d->size))
		abort();
	free(before);
	free(elements);
}

/* What we say of a simple dtype is one that means the same. */
static void
check_text(const struct dtype *d)
{
	CLEAN(clean_free) char *text = dtype_text(d);
	if (!text)
		abort();
	if (d->kind == DTYPE_STRUCT)
		return;
	char quoted[128] = "\"";
	strcat(strcat(quoted, text), "\"");
	CLEAN(json_freep) struct json *v = NULL;
	struct dtype again = {0};
	if (json_parse(quoted, strlen(quoted), &v) < 0 || dtype_parse_v2(v, &again) < 0 ||
		again.size != d->size || again.kind != d->kind || again.big != d->big ||
		again.unit != d->unit)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *line = memchr(text, '\n', size);
	size_t len = line ? (size_t)(line - text) : size;
	CLEAN(json_freep) struct json *type = NULL, *value = NULL;
	struct dtype d = {0}, copy = {0};
	if (json_parse(text, len, &type) < 0)
		return 0;
	if (line)
		json_parse(line + 1, size - len - 1, &value);
	int r = dtype_parse_v2(type, &d);
	if (r == 0) {
		if (dtype_copy(&d, &copy) < 0 || copy.size != d.size)
			abort();
		check_text(&copy);
	}
	if ((r == 0 || r == -ENOTSUP) && d.size <= BYTES_MAX)
		use(&d, value);
	dtype_free(&copy);
	dtype_free(&d);
	return 0;
}
