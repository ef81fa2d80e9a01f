/* What could not be stored is given up while the mount is told that others have made rows: the file
 * has them. Of many fields, so that laying it out takes its time. */
#include "mounted.h"

#include "model/node_cache.h"
#include "view/flats.h"
#include "view/state.h"

#include <fcntl.h>
#include <pthread.h>

enum { ROUNDS = 2000, FIELDS = 200 };

struct shared {
	struct mount *mount;
	model_changed_fn *tell;
	struct node *was, *now;
	pthread_barrier_t begin, end;
};

static struct node *
look(struct zmap *store, struct mount *m, unsigned rows)
{
	struct node *ret = NULL;
	char shape[32], dtype[FIELDS * 16];
	size_t n = 0;
	for (int i = 0; i < FIELDS; i++)
		n += (size_t)snprintf(
			dtype + n, sizeof dtype - n, "%c[\"%d\",\"|i1\"]", i ? ',' : '[', i);
	snprintf(dtype + n, sizeof dtype - n, "]");
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, "t", dtype, shape, "[100]", "\"fill_value\": null");
	CHECK_INT(model_look_again(m->model, "t", &ret), 0);
	return ret;
}

static void *
tell(void *arg)
{
	struct shared *s = arg;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&s->begin);
		for (volatile int n = i % 20 * 100; n > 0; n--)
			;
		s->tell(s->mount, s->was, s->now);
		pthread_barrier_wait(&s->end);
	}
	return NULL;
}

int
main(void)
{
	struct mount_options o = options_new();
	struct zmap *store = store_new("mem:up");
	struct file *f = NULL;
	struct shared s = {0};
	struct entry e = {0};
	pthread_t thread;
	unsigned rows = 3, bad = 0;
	o.rw = true;
	o.zmap.writable = true;
	o.unlimited = "time";
	put_text(store, ".zgroup", "{\"zarr_format\": 2}");
	put_text(store, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	s.mount = mount_new("mem:up", &o);
	s.tell = s.mount->model->changed;
	s.was = look(store, s.mount, rows);
	CHECK_INT(mount_lookup(s.mount, "t", &e), 0);
	CHECK_INT(file_open_for(s.mount, &e, O_RDWR, &f), 0);
	entry_free(&e);
	model_on_change(s.mount->model, NULL, NULL);
	pthread_barrier_init(&s.begin, NULL, 2);
	pthread_barrier_init(&s.end, NULL, 2);
	CHECK(!pthread_create(&thread, NULL, tell, &s));
	struct flat *w = flats_find(s.mount, "t");
	for (int i = 0; i < ROUNDS; i++) {
		struct flat_state st;
		s.now = look(store, s.mount, rows += 2);
		pthread_barrier_wait(&s.begin);
		flat_give_up(w);
		pthread_barrier_wait(&s.end);
		flat_now(w, &st);
		bad += st.size != rows * FIELDS || st.layout->size != st.size;
		flat_state_done(&st);
		node_unref(s.was);
		s.was = s.now;
	}
	CHECK_INT(bad, 0);
	pthread_join(thread, NULL);
	flat_put(w);
	node_unref(s.was);
	file_close(f);
	mount_close(s.mount);
	zmap_close(store);
	return check_end();
}
