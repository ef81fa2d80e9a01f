/* The snapshots before the one that is shown: a line each, of id, time and message. */
#include "backends/icechunk/impl.h"

#include "base/err.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE_MAX = 1000 };

/* As a version's name takes it, so exactly: fractions of a second where there are. */
static void
say_time(int64_t time, char *ret, size_t size)
{
	time_t seconds = (time_t)(time / SECOND);
	int microseconds = (int)(time % SECOND / 1000);
	struct tm tm;
	size_t n = gmtime_r(&seconds, &tm) ? strftime(ret, size, "%Y-%m-%dT%H:%M:%S", &tm) : 0;
	ret[n] = 0;
	if (n && microseconds)
		snprintf(ret + n, size - n, ".%06dZ", microseconds);
	else if (n)
		snprintf(ret + n, size - n, "Z");
}

static int
tell(void *arg, const struct ice_commit *c)
{
	char time[48], message[MESSAGE_MAX + 1];
	say_time(c->time, time, sizeof time);
	size_t n = c->message.len < MESSAGE_MAX ? c->message.len : MESSAGE_MAX;
	for (size_t i = 0; i < n; i++)
		message[i] = c->message.data[i] < ' ' || c->message.data[i] == 0x7f
				     ? ' '
				     : (char)c->message.data[i];
	message[n] = 0;
	return buf_addf(arg, "%s\t%s\t%s\n", c->id, time, message);
}

/* Spec 1: each snapshot names the one before. */
static int
follow_parents(struct ice *p, struct ice_tree *t, struct buf *ret)
{
	int r = 0;
	for (int i = 0; i < ICE_HISTORY_MAX; i++) {
		struct ice_commit c = {.time = t->time, .message = t->message};
		CLEAN(ice_tree_unrefp) struct ice_tree *next = NULL;
		char id[ICE_ID_TEXT + 1];
		memcpy(c.id, t->id, sizeof c.id);
		r = tell(ret, &c);
		bool more = r == 0 && t->has_parent;
		if (more) {
			ice_id_text(t->parent, id);
			more = strcmp(id, t->id) && ice_load_tree(p, id, &next) == 0;
		}
		ice_tree_unref(t);
		t = MOVE(next);
		if (!more)
			break; /* expired ones are gone */
	}
	ice_tree_unref(t);
	return r;
}

int
ice_history(struct container *c, struct buf *ret)
{
	struct ice *p = (struct ice *)c;
	struct ice_tree *t = NULL;
	int r = ice_version_tree(p, p->ref, &t);
	if (r != 0)
		return r < 0 ? r : 0;
	bool two = false;
	LOCKED(&p->turn) {
		two = p->repo;
		if (two)
			r = ice_repo_ancestry(p->repo, t->id, tell, ret);
	}
	if (!two)
		return follow_parents(p, t, ret);
	ice_tree_unref(t);
	return r;
}
