/* beginning.c - what a trace begins with, where a device has no room for it. */
#include "cmd/beginning.h"

#include "base/format.h"
#include "trace/reader.h"

void frag_note_beginning(const struct frag_result *run, bool first, const struct frag_log *log)
{
	const struct frag_beginning *b = &run->beginning;
	const uint64_t taken = run->context + run->other;
	const uint64_t room = run->total > taken ? run->total - taken : 0;
	char live[FRAG_NUMBER_ROOM], segments[FRAG_NUMBER_ROOM], has[FRAG_NUMBER_ROOM];

	frag_size_text(live, b->live);
	frag_size_text(segments, b->segments);
	frag_size_text(has, room);
	if (run->total && b->live > room) {
		if (first)
			frag_note(log, "device %u: %s are live before the recording begins, in segments"
				  " of %s, and the device has %s for them: no setting makes that fit",
				  run->device, live, segments, has);
		return;
	}
	if (b->as_requests)
		frag_note(log, "policy %.300s, device %u: the recording begins with segments of %s, of"
			  " which %s are live, and %s %s for them: the live blocks are ordinary"
			  " requests here, by their addresses, as their ages are unknown",
			  run->choice.text, run->device, segments, live,
			  b->segments > room && run->total ? "the device has"
							   : "the policy does not take",
			  b->segments > room && run->total ? has : "so much");
}
