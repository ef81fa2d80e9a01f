#include "check.h"

#include <errno.h>
#include <pthread.h>

static void *
other_thread(void *arg)
{
	CHECK_STR(err_text(), "");
	CHECK_INT(err_restore(arg), -EIO);
	CHECK_STR(err_text(), "cannot read 'x/0.1': truncated");
	return NULL;
}

int
main(void)
{
	CHECK_STR(err_text(), "");
	CHECK_INT(err_set(-EIO, "truncated"), -EIO);
	CHECK_INT(err_add(-EIO, "cannot read '%s'", "x/0.1"), -EIO);
	CHECK_STR(err_text(), "cannot read 'x/0.1': truncated");

	struct err saved;
	err_save(-EIO, &saved);
	err_set(-ENOENT, "about %s", err_text()); /* an argument may be the old text */
	CHECK_STR(err_text(), "about cannot read 'x/0.1': truncated");
	CHECK_INT(err_sys(ENOENT, "cannot open '%s'", "y"), -ENOENT);
	CHECK_STR(err_text(), "cannot open 'y': No such file or directory");

	pthread_t t;
	pthread_create(&t, NULL, other_thread, &saved);
	pthread_join(t, NULL);
	return check_end();
}
