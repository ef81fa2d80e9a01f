/* Lines on their way to a sink that may be slow or stuck: a thread of its own hands them over, in
 * order, so that a thread which says something never waits. What finds no room is dropped, and its
 * count is a line of its own in the place of those lines.
 *
 * A thread, and not a look whether stderr would take a line: a pipe can be shared, and then another
 * program fills it between the look and the write; O_NONBLOCK would be set for all processes that
 * share it; and syslog has nothing to look at. Any thread may call. It must be started after the
 * last fork that goes on without exec. */
#pragma once

#include "base/log.h"

/* 0, or -errno: there is no thread, and nothing may be put. Once a process, unless it was
 * stopped. */
int log_queue_start(void);
/* Never waits. */
void log_queue_put(log_sink_fn *, enum log_level, const char *line);
/* Until all that was put is handed over, but only while the sink takes some in each second. */
void log_queue_drain(void);
/* Drains and ends the thread. False: it is stuck in its sink, and goes on as before. */
bool log_queue_stop(void);
