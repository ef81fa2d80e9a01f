/* While the mount is told that others have made two rows, a row is written, room for one is made,
 * or what could not be stored is given up: the file has all that there are. Of many fields, so that
 * laying it out takes its time. */
#include "told.h"

#include "view/flats.h"

#include <pthread.h>

enum { ROUNDS = 2000, FIELDS = 200, FIRST = 3 };

struct shared {
	struct told told;
	struct node *was, *now;
	pthread_barrier_t begin, end;
};

static void
put_rows(struct zmap *store, unsigned rows)
{
	char shape[32], dtype[FIELDS * 16];
	size_t n = 0;
	for (int i = 0; i < FIELDS; i++)
		n += (size_t)snprintf(
			dtype + n, sizeof dtype - n, "%c[\"%d\",\"|i1\"]", i ? ',' : '[', i);
	snprintf(dtype + n, sizeof dtype - n, "]");
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, "t", dtype, shape, "[100]", "\"fill_value\": null");
}

static void *
tell(void *arg)
{
	struct shared *s = arg;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&s->begin);
		for (volatile int n = i % 20 * 100; n > 0; n--)
			;
		s->told.tell(s->told.mount, s->was, s->now);
		pthread_barrier_wait(&s->end);
	}
	return NULL;
}

/* Another writer makes two rows more than these; fn does what it does, with the number of rows
 * before, while the mount is told of it. */
static int
meanwhile(struct shared *s, unsigned rows, int (*fn)(struct file *, unsigned rows))
{
	s->now = told_look(&s->told, rows + 2);
	pthread_barrier_wait(&s->begin);
	int r = fn(s->told.file, rows);
	pthread_barrier_wait(&s->end);
	node_unref(s->was);
	s->was = s->now;
	return r;
}

static int
write_row(struct file *f, unsigned rows)
{
	static const struct array_want how;
	const uint8_t row[FIELDS] = {1};
	return file_write(f, rows * sizeof row, (struct span){row, sizeof row}, &how, 0);
}

static unsigned
write_meanwhile(struct shared *s)
{
	unsigned bad = 0;
	uint8_t tail[3 * FIELDS];
	for (unsigned i = 0, rows = FIRST; i < ROUNDS; i++, rows += 2)
		bad += meanwhile(s, rows, write_row) < 0 ||
		       read_at(s->told.file, rows * FIELDS, sizeof tail, tail) != 2 * FIELDS ||
		       tail[0] != 1;
	return bad;
}

static struct flat *given;

static int
give_up(struct file *f, unsigned rows)
{
	flat_give_up(given);
	return 0;
}

static int
make_room(struct file *f, unsigned rows)
{
	return file_truncate(f, (rows + 1) * FIELDS, RESIZE_LONGER, NULL);
}

static unsigned
whole_after(struct shared *s, int (*fn)(struct file *, unsigned rows))
{
	unsigned bad = 0;
	given = flats_find(s->told.mount, "t");
	for (unsigned i = 0, rows = FIRST; i < ROUNDS; i++, rows += 2) {
		struct flat_state st;
		bad += meanwhile(s, rows, fn) < 0;
		flat_now(given, &st);
		bad += st.size != (rows + 2) * FIELDS || st.layout->size != st.size;
		flat_state_done(&st);
	}
	flat_put(given);
	return bad;
}

static unsigned
give_up_meanwhile(struct shared *s)
{
	return whole_after(s, give_up);
}

static unsigned
make_room_meanwhile(struct shared *s)
{
	return whole_after(s, make_room);
}

static void
test(unsigned (*fn)(struct shared *))
{
	struct shared s = {0};
	pthread_t thread;
	s.told = told_begin(put_rows, FIRST, &s.was);
	pthread_barrier_init(&s.begin, NULL, 2);
	pthread_barrier_init(&s.end, NULL, 2);
	CHECK(!pthread_create(&thread, NULL, tell, &s));
	CHECK_INT(fn(&s), 0);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&s.begin);
	pthread_barrier_destroy(&s.end);
	node_unref(s.was);
	told_end(&s.told);
}

int
main(void)
{
	test(give_up_meanwhile); /* first: what runs warm is rarely told in between */
	test(write_meanwhile);
	test(make_room_meanwhile);
	return check_end();
}
