/* What the program says: one line a message, to one sink, and the last warnings and errors kept for
 * `.zarrfs/log`. Any thread may call. Libraries (src/ and below) use debug only. */
#pragma once

#include "base/buf.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Gets one whole line without its end. Called with no lock held. */
typedef void log_sink_fn(enum log_level, const char *line);

void log_set_level(enum log_level);
enum log_level log_get_level(void);
/* Default: stderr, "zarrfs: " before the line. What was said before goes to the sink of before. */
void log_set_sink(log_sink_fn *);

/* From here to log_stop no thread that says something waits for the sink, but a thread of this
 * module (base/log_queue.h; stderr that is a plain file is written to at once). Where no thread can
 * be had, all stays as it is. */
void log_start(void);
/* Until what was said is with the sink, unless that takes nothing for a second. */
void log_drain(void);
void log_stop(void);
void log_line(enum log_level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                                                             \
	do {                                                                                       \
		if (log_get_level() >= LOG_LEVEL_DEBUG)                                            \
			log_line(LOG_LEVEL_DEBUG, __VA_ARGS__);                                    \
	} while (0)

/* The kept warnings and errors, oldest first, each "TIME LEVEL message\n". 0 or -ENOMEM. */
int log_recent(struct buf *ret);
