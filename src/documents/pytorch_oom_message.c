/* pytorch_oom_message.c - an out-of-memory in PyTorch's words. */
#include "documents/pytorch_oom_message.h"

#include <stdio.h>
#include <string.h>

#include "base/format.h"

static const char *owner(const struct frag_result *run)
{
	const char *name = run->choice.ops->name;

	return strcmp(name, "pytorch") == 0 ? "PyTorch" : name;
}

/* The sentence of PyTorch's own error, with the name of the policy in place of PyTorch's. */
const char *frag_oom_message(const struct frag_result *run, const struct frag_oom *oom,
			     char buf[FRAG_OOM_MESSAGE_ROOM])
{
	const struct frag_metrics *m = &oom->metrics;
	char tried[FRAG_NUMBER_ROOM], total[FRAG_NUMBER_ROOM], allocated[FRAG_NUMBER_ROOM];
	char unused[FRAG_NUMBER_ROOM], reserved[FRAG_NUMBER_ROOM];
	char capacity[64] = "", left[64] = "";

	if (m->limited) {
		snprintf(capacity, sizeof(capacity), "%s total capacity; ",
			 frag_pytorch_size_text(total, run->total));
		snprintf(left, sizeof(left), "%s free; ",
			 frag_pytorch_size_text(unused,
						m->device_free > 0 ? (uint64_t)m->device_free : 0));
	}
	snprintf(buf, FRAG_OOM_MESSAGE_ROOM,
		 "CUDA out of memory. Tried to allocate %s (GPU %u; %s%s already allocated; "
		 "%s%s reserved in total by %s)",
		 frag_pytorch_size_text(tried, oom->tried), run->device, capacity,
		 frag_pytorch_size_text(allocated, m->allocated), left,
		 frag_pytorch_size_text(reserved, m->reserved), owner(run));
	return buf;
}

const char *frag_oom_message_now(const struct frag_result *run, const struct frag_oom *oom,
				 char buf[FRAG_OOM_MESSAGE_ROOM])
{
	const struct frag_metrics *m = &oom->metrics;
	char tried[FRAG_NUMBER_ROOM], a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM];
	char c[FRAG_NUMBER_ROOM], device[256] = "", allowed[64] = "";

	if (m->limited)
		snprintf(device, sizeof(device),
			 " GPU %u has a total capacity of %s of which %s is"
			 " free. Including non-PyTorch memory, this process has %s memory in use.",
			 run->device, frag_pytorch_size_text(a, run->total),
			 frag_pytorch_size_text(b,
						m->device_free > 0 ? (uint64_t)m->device_free : 0),
			 frag_pytorch_size_text(c, m->process_used));
	if (oom->limit != UINT64_MAX)
		snprintf(allowed, sizeof(allowed), " %s allowed;",
			 frag_pytorch_size_text(a, oom->limit));
	snprintf(buf, FRAG_OOM_MESSAGE_ROOM,
		 "CUDA out of memory. Tried to allocate %s.%s%s Of the allocated memory %s is"
		 " allocated by %s, and %s is reserved by %s but unallocated.",
		 frag_pytorch_size_text(tried, oom->tried), device, allowed,
		 frag_pytorch_size_text(b, m->allocated), owner(run),
		 frag_pytorch_size_text(c, m->reserved - m->allocated), owner(run));
	return buf;
}
