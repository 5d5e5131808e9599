/* pytorch_oom_message.c - writes out-of-memory errors as PyTorch does. */
#include "documents/documents.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"

static const char *owner(const struct frag_result *run)
{
	const char *name = run->choice.ops->name;

	return strcmp(name, "pytorch") == 0 ? "PyTorch" : name;
}

/* As its format_size prints it: "1 bytes", and a unit goes up to 1024 of it: "1024.00 MiB". */
static char *pytorch_size_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	double size = (double)bytes;

	if (bytes <= UINT64_C(1) << 10)
		snprintf(buf, FRAG_NUMBER_ROOM, "%llu bytes", (unsigned long long)bytes);
	else if (bytes <= UINT64_C(1) << 20)
		frag_snprintf(buf, FRAG_NUMBER_ROOM, "%.2f KiB", size / 1024);
	else if (bytes <= UINT64_C(1) << 30)
		frag_snprintf(buf, FRAG_NUMBER_ROOM, "%.2f MiB", size / 1048576);
	else
		frag_snprintf(buf, FRAG_NUMBER_ROOM, "%.2f GiB", size / 1073741824);
	return buf;
}

#define PYTORCH_SIZE(bytes) pytorch_size_text((char[FRAG_NUMBER_ROOM]){ 0 }, (bytes))

static uint64_t free_on(const struct frag_metrics *m)
{
	return m->device_free > 0 ? (uint64_t)m->device_free : 0;
}

const char *frag_oom_message(const struct frag_result *run, const struct frag_oom *oom, bool now,
			     char buf[FRAG_OOM_MESSAGE_ROOM])
{
	const struct frag_metrics *m = &oom->metrics;
	const bool limited = m->limited;
	char device[256] = "", allowed[64] = "";

	if (!now) {
		snprintf(buf, FRAG_OOM_MESSAGE_ROOM,
			 "CUDA out of memory. Tried to allocate %s (GPU %u; %s%s%s already"
			 " allocated; %s%s%s reserved in total by %s)", PYTORCH_SIZE(oom->tried),
			 run->device, limited ? PYTORCH_SIZE(run->total) : "",
			 limited ? " total capacity; " : "", PYTORCH_SIZE(m->allocated),
			 limited ? PYTORCH_SIZE(free_on(m)) : "", limited ? " free; " : "",
			 PYTORCH_SIZE(m->reserved), owner(run));
		return buf;
	}
	if (limited)
		snprintf(device, sizeof(device),
			 " GPU %u has a total capacity of %s of which %s is"
			 " free. Including non-PyTorch memory, this process has %s memory in use.",
			 run->device, PYTORCH_SIZE(run->total), PYTORCH_SIZE(free_on(m)),
			 PYTORCH_SIZE(m->process_used));
	if (oom->limit != UINT64_MAX)
		snprintf(allowed, sizeof(allowed), " %s allowed;", PYTORCH_SIZE(oom->limit));
	snprintf(buf, FRAG_OOM_MESSAGE_ROOM,
		 "CUDA out of memory. Tried to allocate %s.%s%s Of the allocated memory %s is"
		 " allocated by %s, and %s is reserved by %s but unallocated.",
		 PYTORCH_SIZE(oom->tried), device, allowed, PYTORCH_SIZE(m->allocated), owner(run),
		 PYTORCH_SIZE(m->reserved - m->allocated), owner(run));
	return buf;
}
