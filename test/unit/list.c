#include "base/list.h"
#include "check.h"

#include "base/clean.h"

enum { MANY = 1000 };

struct pair {
	unsigned first, second;
};

/* Each element stays what it was, also where some were taken from the end meanwhile. */
static void
test_added(void)
{
	CLEAN(clean_free) struct pair *of = NULL;
	unsigned n = 0;
	for (unsigned i = 0; i < MANY; i++) {
		CHECK_INT(LIST_ADD(of, n, "pairs", (struct pair){n, i}), 0);
		if (i % 3 == 2)
			n--;
	}
	CHECK_INT(n, MANY - MANY / 3);
	for (unsigned i = 0; i < n; i++)
		CHECK_INT(of[i].first, i);
	for (n = 5; n < 20; n++) {
		CHECK_INT(LIST_MORE(of, n, "pairs"), 0);
		of[n].first = n;
	}
	CHECK_INT(of[4].first, 4);
}

static void
test_inserted(void)
{
	static const unsigned in[] = {4, 0, 2, 1, 3, 5};
	CLEAN(clean_free) unsigned *of = NULL;
	size_t n = 0;
	for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
		size_t at = n;
		while (at && of[at - 1] > in[i])
			at--;
		CHECK_INT(LIST_INSERT(of, n, at, "numbers", in[i]), 0);
	}
	for (unsigned i = 0; i < n; i++)
		CHECK_INT(of[i], i);
}

/* A text that there is no memory for, and a list longer than memory is. */
static void
test_without_memory(void)
{
	char **of = NULL;
	size_t n = 0;
	CHECK_INT(LIST_TAKE(of, n, "names", strdup("a")), 0);
	CHECK_INT(LIST_TAKE(of, n, "names", NULL), -ENOMEM);
	CHECK_STR(err_text(), "no memory for names");
	CHECK_INT(n, 1);
	static const size_t most[] = {SIZE_MAX / 2 + 1, SIZE_MAX / 8 + 1, SIZE_MAX / 16 + 1};
	for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
		char **was = of;
		size_t many = most[i];
		err_clear();
		CHECK_INT(LIST_MORE(of, many, "many names"), -ENOMEM);
		CHECK_STR(err_text(), "no memory for many names");
		CHECK_INT(LIST_TAKE(of, many, "many names", strdup("b")), -ENOMEM);
		CHECK_INT(of == was && many == most[i], true);
	}
	CHECK_STR(of[0], "a");
	LIST_FREE(of, n);
}

int
main(void)
{
	test_added();
	test_inserted();
	test_without_memory();
	return check_end();
}
