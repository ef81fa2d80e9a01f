/* What fuse/shown.c, fuse/shown_pass.c and fuse/shown_write.c share. No other file includes it. */
#pragma once

#include "base/map.h"
#include "fuse/shown.h"

#include "fuse/inode.h"

#include "base/clock.h"

#include <stdatomic.h>

enum { SHOWN_PASSES = 64 };

struct page {
	struct map_entry by_number;
	struct page *older, *newer; /* of all files */
	struct shown *of;
	uint64_t number;
	uint64_t filled;           /* the stamp of when the kernel had it at the latest */
	uint64_t asked;            /* of when it asked for it; 0: a write() made it whole */
	struct doubt *doubt;       /* NULL: there is none */
	uint8_t bytes[SHOWN_PAGE]; /* behind the end of the file zeros, as the kernel has it */
};

/* The kernel's page may also be, or is, as it was before a write(), and is to be dropped. */
struct doubt {
	struct doubt *before, *behind; /* of all files */
	struct page *of;
	uint8_t bytes[SHOWN_PAGE];
};

struct shown_pages {
	pthread_mutex_t lock;        /* guards all up to ended */
	pthread_cond_t due, settled; /* settled: a doubt has ended */
	struct page *oldest, *newest;
	struct doubt *doubts;
	size_t bytes, limit;
	uint64_t stamp; /* goes up with each page that is filled */
	bool ended;
	pthread_mutex_t saying; /* guards said, and is held while it is said */
	size_t said;
	shown_held *held;
	void *arg;
};

/* What a write() past the pages has put there. */
struct shown_pass {
	uint64_t from, to; /* alike: none */
	uint64_t number;
	int64_t ended; /* clock_now(); 0: it is under way */
};

/* Pages of a file that the kernel has dropped since the last write() into pages came, or drops
 * now. */
struct shown_drops {
	uint64_t from, to;  /* bytes; alike: none */
	uint64_t since;     /* the stamp when the first one began */
	unsigned under_way; /* that we know the end of */
	unsigned opening;   /* open() that drops them, and its program has asked for nothing yet */
	int64_t opened;     /* clock_now() of when the last such one was answered */
	int64_t begun;      /* … of when the file was first opened to be written */
	int64_t wrote;      /* … of when the last write() into pages came, and the stamp */
	uint64_t wrote_stamp;
};

/* What was written into pages lately; the oldest one may be several. */
enum { SHOWN_LAID = 8 };
struct shown_laid {
	uint64_t from, to;
	int64_t ended; /* clock_now(); 0: none */
};

struct shown {
	struct shown_pages *all;
	struct inode *inode;
	/* Under the lock of all: */
	atomic_uint writers; /* open handles; while there are none, no page is remembered */
	struct map pages;
	struct shown_drops drops;
	struct shown_laid laid[SHOWN_LAID]; /* the newest one first */

	pthread_mutex_t lock; /* guards the rest */
	struct shown_pass pass[SHOWN_PASSES];
	uint64_t passes; /* so far */
};

/* With the lock of all held: */
struct page *shown_page(struct shown *, uint64_t number);
/* It has these bytes for sure, and behind them zeros; what there is no memory for is not known. */
enum shown_how {
	SHOWN_NOTED, /* they came from it */
	SHOWN_ASKED, /* it is filled with them */
	SHOWN_MADE,  /* a write() has made it */
};
void shown_set(struct shown *, uint64_t number, struct span, enum shown_how);
/* The page is as it is known now, or as after what is written to it next. false: no memory. */
bool shown_doubt(struct page *);
/* With no lock held: tells how many bytes there are, when that has changed much. */
void shown_say_held(struct shown_pages *);

/* NULL: it was never opened to be written. */
static inline struct shown *
shown_of(const struct inode *i)
{
	return atomic_load_explicit(&i->shown, memory_order_acquire);
}

/* ns. The kernel drops pages also when a program takes in an answer: that of an open(), or about
 * attributes that have changed. It does that by itself when it runs again, and we are not told: so
 * long it is thought to take. */
static const int64_t SHOWN_LATE = SECOND;

/* May an open() that was answered drop all pages yet? The lock of all is held, as in the next. */
static inline bool
shown_opens(const struct shown *s)
{
	return s->drops.opening && !clock_over(s->drops.opened + SHOWN_LATE);
}

/* Was one of these bytes written into pages since then (clock_now)? */
static inline bool
shown_laid_since(const struct shown *s, uint64_t off, uint64_t len, int64_t begun)
{
	for (const struct shown_laid *l = s->laid; l < s->laid + SHOWN_LAID; l++)
		if (l->ended >= begun && l->from < off + len && off < l->to)
			return true;
	return false;
}
