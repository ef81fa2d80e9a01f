#include "fuse/guess.h"

#include <string.h>

enum { LONGEST = 32, WRONG_MOST = 2, SHARE = 3 /* of the letters may be wrong: one in so many */ };
enum { PARTS = 4, BEGINNING = 3 /* letters at the least */ };
enum {
	NEAR = 4000,
	ALL = 2000
}; /* of guess.right: letters are wrong, so many times less; parts are shared */

/* A word without what separates its parts, and these. */
struct guess_word {
	size_t len, parts;
	char text[LONGEST + 1];
	const char *part[PARTS];
	size_t part_len[PARTS];
};

static bool
separates(char c)
{
	return c == '_' || c == '-';
}

/* False: it is too long. */
static bool
take(struct guess_word *w, const char *text, size_t len)
{
	bool begins = true;
	*w = (struct guess_word){0};
	for (size_t i = 0; i < len; i++) {
		if (separates(text[i])) {
			begins = true;
			continue;
		}
		if (w->len == LONGEST || (begins && w->parts == PARTS))
			return false;
		if (begins)
			w->part[w->parts++] = w->text + w->len;
		w->text[w->len++] = text[i];
		w->part_len[w->parts - 1]++;
		begins = false;
	}
	return w->len;
}

static size_t
least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;
	return ab < c ? ab : c;
}

/* Letters to change, to put in and to take out. */
static size_t
distance(const struct guess_word *a, const struct guess_word *b)
{
	size_t row[LONGEST + 1];
	for (size_t j = 0; j <= b->len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a->len; i++) {
		size_t before = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b->len; j++) {
			size_t above = row[j];
			row[j] = least(above + 1, row[j - 1] + 1,
				before + (a->text[i - 1] != b->text[j - 1]));
			before = above;
		}
	}
	return row[b->len];
}

/* Letters that both begin with, if that is all of one of them. */
static size_t
beginning(const char *a, size_t na, const char *b, size_t nb)
{
	size_t n = na < nb ? na : nb;
	return (na == nb || n >= BEGINNING) && !memcmp(a, b, n) ? n : 0;
}

/* Letters of a's parts that b has, if it has all of them; whole: not only their beginnings. */
static size_t
has_all(const struct guess_word *b, const struct guess_word *a, bool whole)
{
	size_t letters = 0;
	for (size_t i = 0; i < a->parts; i++) {
		size_t best = 0;
		for (size_t j = 0; j < b->parts; j++) {
			size_t n =
				beginning(a->part[i], a->part_len[i], b->part[j], b->part_len[j]);
			best = n > best ? n : best;
		}
		if (!best || (whole && best < a->part_len[i]))
			return 0;
		letters += best;
	}
	return letters;
}

static size_t
most(size_t a, size_t b, size_t c)
{
	size_t ab = a > b ? a : b;
	return ab > c ? ab : c;
}

static size_t
rightness(const struct guess_word *typed, const struct guess_word *word)
{
	size_t wrong = distance(typed, word);
	if (wrong <= WRONG_MOST && SHARE * wrong <= word->len)
		return NEAR - wrong;
	size_t shared = most(has_all(word, typed, false), has_all(typed, word, true),
		beginning(typed->text, typed->len, word->text, word->len));
	return ALL * shared / (typed->len + word->len);
}

bool
guess_better(const char *typed, size_t len, const char *word, struct guess *g)
{
	struct guess_word a, b;
	if (!take(&a, typed, len) || !take(&b, word, strlen(word)))
		return false;
	size_t right = rightness(&a, &b);
	if (right <= g->right)
		return false;
	g->right = right;
	return true;
}

bool
guess_same(const char *typed, size_t len, const char *word)
{
	struct guess_word a, b;
	return take(&a, typed, len) && take(&b, word, strlen(word)) && a.len == b.len &&
	       !memcmp(a.text, b.text, a.len);
}
