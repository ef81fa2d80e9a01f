/* A writable mount that is told late, or in another order, what threads of its have seen of the
 * metadata: no file gets shorter by that, and rows are appended behind those that there are. */
#include "told.h"

static const struct array_want how;

static void
put_rows(struct zmap *store, unsigned rows)
{
	char shape[32];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, "t", "\"|i1\"", shape, "[4]", "\"fill_value\": 0");
}

/* The mount with nodes of three and of four rows, of which it was told nothing so far; and an open
 * file of three. */
struct late {
	struct told told;
	struct node *three, *four;
};

static struct late
begin(void)
{
	struct late l;
	l.told = told_begin(put_rows, 3, &l.three);
	put_bytes(l.told.store, "t/0", "\1\2\3\4", 4);
	l.four = told_look(&l.told, 4);
	CHECK_INT(l.four->array->shape[0], 4);
	return l;
}

static void
end(struct late *l)
{
	node_unref(l->three);
	node_unref(l->four);
	told_end(&l->told);
}

static void
test_order(void)
{
	struct late l = begin();
	int8_t rows[8];
	l.told.tell(l.told.mount, l.three, l.four);
	l.told.tell(l.told.mount, NULL, l.three);
	CHECK_INT(read_at(l.told.file, 0, sizeof rows, rows), 4);
	CHECK_INT(rows[3], 4);
	end(&l);
}

static void
test_append(void)
{
	struct late l = begin();
	int8_t rows[8];
	CHECK_INT(file_write(l.told.file, 3, (struct span){(const uint8_t *)"\5", 1}, &how,
			  FILE_APPEND),
		0);
	CHECK_INT(read_at(l.told.file, 0, sizeof rows, rows), 5);
	CHECK_INT(rows[3], 4);
	CHECK_INT(rows[4], 5);
	CHECK_INT(file_settle(l.told.file, SETTLE_FLUSH, 0, NULL), 0);
	end(&l);
}

/* Of a hole only what lies behind the end becomes fill. */
static void
test_hole(void)
{
	struct late l = begin();
	int8_t rows[8];
	CHECK_INT(file_write(l.told.file, 5, (struct span){(const uint8_t *)"\6", 1}, &how, 0), 0);
	CHECK_INT(read_at(l.told.file, 0, sizeof rows, rows), 6);
	CHECK_INT(rows[3], 4);
	CHECK_INT(rows[5], 6);
	CHECK_INT(file_settle(l.told.file, SETTLE_FLUSH, 0, NULL), 0);
	end(&l);
}

/* The array is replaced, and a write to the former one refused: so says close, too. */
static void
test_replaced(void)
{
	struct late l = begin();
	struct node *other = NULL;
	put_meta(l.told.store, "t", "\"|u1\"", "[4]", "[4]", "\"fill_value\": 0");
	CHECK_INT(model_look_again(l.told.mount->model, "t", &other), 0);
	l.told.tell(l.told.mount, l.four, other);
	node_unref(other);
	CHECK_INT(
		file_write(l.told.file, 0, (struct span){(const uint8_t *)"\5", 1}, &how, 0), -EIO);
	CHECK_INT(file_settle(l.told.file, SETTLE_FLUSH, 0, NULL), -EIO);
	CHECK_INT(file_settle(l.told.file, SETTLE_RELEASE, 0, NULL), -EIO);
	end(&l);
}

int
main(void)
{
	test_replaced();
	test_order();
	test_append();
	test_hole();
	return check_end();
}
