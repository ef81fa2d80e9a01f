/* Threads that get no memory for a request leave the others at work. */
#include "kernel.h"

#include <dlfcn.h>
#include <stdatomic.h>

struct fuse_session;
struct fuse_buf;
int fuse_session_receive_buf(struct fuse_session *, struct fuse_buf *);

enum { ASKED = 200 };

static atomic_uint begun, without; /* threads; those of them that get no memory */

/* In the place of libfuse's: a thread other than the first fails when it would allocate. */
int
fuse_session_receive_buf(struct fuse_session *se, struct fuse_buf *buf)
{
	int (*receive)(struct fuse_session *, struct fuse_buf *);
	static _Thread_local bool was_here;
	if (!was_here && atomic_fetch_add(&begun, 1)) {
		atomic_fetch_add(&without, 1);
		return -ENOMEM;
	}
	was_here = true;
	*(void **)&receive = dlsym(RTLD_NEXT, "fuse_session_receive_buf");
	return receive(se, buf);
}

static void
ask(struct kernel *k)
{
	kernel_begin(k, 45);
	struct kernel_file f = kernel_open(k, "a", O_RDWR);
	for (unsigned i = 0; i < ASKED; i++)
		CHECK_INT(kernel_read(k, &f, KERNEL_PAST, i, 1), 1);
	while (!atomic_load(&without)) /* the thread may come late */
		CHECK_INT(kernel_read(k, &f, KERNEL_PAST, 0, 1), 1);
	CHECK_INT(kernel_read(k, &f, KERNEL_PAST, 0, 1), 1);
	kernel_close(k, &f);
}

int
main(void)
{
	char store[] = "mem:few_threads", rw[] = "rw,unlimited=a";
	struct zmap *z = store_new(store);
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "a", "\"|u1\"", "[1000]", "[1000]", "\"fill_value\": 46");
	kernel_mount(store, rw, ask);
	zmap_close(z);
	return check_end();
}
