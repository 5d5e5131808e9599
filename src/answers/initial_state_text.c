/* initial_state_text.c - what a trace begins with, where a device has no room for it. */
#include "answers/initial_state_text.h"

#include <stdio.h>

#include "base/format.h"

bool frag_beginning_text(const struct frag_result *run, bool first, char buf[FRAG_BEGINNING_ROOM])
{
	const struct frag_beginning *b = &run->beginning;
	const uint64_t taken = run->context + run->other;
	const uint64_t room = run->total > taken ? run->total - taken : 0;
	const bool full = b->segments > room && run->total;
	char live[FRAG_NUMBER_ROOM], segments[FRAG_NUMBER_ROOM], has[FRAG_NUMBER_ROOM];

	frag_size_text(live, b->live);
	frag_size_text(segments, b->segments);
	frag_size_text(has, room);
	if (run->total && b->live > room) {
		snprintf(buf, FRAG_BEGINNING_ROOM, "device %u: %s are live before the recording"
			 " begins, in segments of %s, and the device has %s for them: no setting"
			 " makes that fit", run->device, live, segments, has);
		return first;
	}
	snprintf(buf, FRAG_BEGINNING_ROOM, "policy %.300s, device %u: the recording begins with"
		 " segments of %s (%s live), and %s %s for them: the live blocks are"
		 " ordinary requests here, by their addresses, as their ages are unknown",
		 run->choice.text, run->device, segments, live,
		 full ? "the device has" : "the policy does not take", full ? has : "that number of bytes");
	return b->as_requests;
}
