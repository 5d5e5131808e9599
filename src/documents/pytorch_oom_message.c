/* pytorch_oom_message.c - writes out-of-memory errors: as PyTorch does, and as JSON. */
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

/* Messages are laid out as cJSON lays out a document. */
#define MEMBER "\n\t\t\t"
#define MESSAGE_ROOM 4096

struct message_text {
	char text[MESSAGE_ROOM];
	size_t used;
};

#define ADD(to, ...) \
	(to)->used += (size_t)snprintf((to)->text + (to)->used, MESSAGE_ROOM - (to)->used, __VA_ARGS__)

/* What a size is, negative ones too; null where it is unknown. */
static void add_value(struct message_text *to, const char *key, const struct frag_message_value *value)
{
	char number[FRAG_NUMBER_ROOM];

	*frag_put_u64(number, value->bytes) = '\0';
	ADD(to, "\"%s\":\t%s%s", key, value->there && value->negative ? "-" : "",
	    value->there ? number : "null");
}

static void add_parts(struct message_text *to, const struct frag_message *m)
{
	const char *separator = "";

	ADD(to, MEMBER "\"parts\":\t{");
	for (int i = 0; i < FRAG_MESSAGE_PARTS; i++) {
		const struct frag_message_value *part = &m->said[FRAG_SAID_PARAMETERS + i];

		if (!part->there)
			continue;
		ADD(to, "%s", separator);
		add_value(to, frag_part_name(i), part);
		separator = ", ";
	}
	ADD(to, "},");
}

/* The words of the possible verdicts, except that of the verdict itself, each once. */
static void add_possible(struct message_text *to, const struct frag_message *m)
{
	const char *separator = "";
	uint32_t named = 1U << frag_message_cause(m);

	ADD(to, MEMBER "\"also_possible\":\t[");
	for (int i = 0; i < FRAG_SHORTAGES; i++) {
		const enum frag_oom_cause cause =
			frag_message_cause_of(m, (enum frag_oom_verdict)i);

		if (!(m->possible >> i & 1) || (int)m->verdict == i || named >> cause & 1)
			continue;
		named |= 1U << cause;
		ADD(to, "%s\"%s\"", separator, frag_oom_cause_name(cause));
		separator = ", ";
	}
	ADD(to, "],");
}

static void add_missing(struct message_text *to, const struct frag_message *m)
{
	const char *missing[FRAG_MISSING_MAX + 1];

	frag_message_missing(m, missing);
	ADD(to, MEMBER "\"missing\":\t[");
	for (int i = 0; missing[i]; i++)
		ADD(to, "%s\"%s\"", i ? ", " : "", missing[i]);
	ADD(to, "]");
}

/* The first message begins the document, each later one continues its array. */
void frag_message_write(const struct frag_message *m, uint64_t count, struct frag_outfile *out)
{
	const struct frag_message_value precision = { .bytes = m->precision, .there = true };
	const struct {
		const char *key;
		const struct frag_message_value *value;
	} rows[] = {
		{ "asked", &m->said[FRAG_SAID_ASKED] }, { "total", &m->total }, { "free", &m->free },
		{ "allocated", &m->allocated }, { "reserved", &m->reserved },
		{ "outside", &m->outside }, { "limit", &m->said[FRAG_SAID_ALLOWED] },
		{ "nonreleasable", &m->said[FRAG_SAID_NONRELEASABLE] },
		{ "kv_free", &m->said[FRAG_SAID_KV_FREE] },
		{ "max_model_len", &m->said[FRAG_SAID_TOKENS] }, { "precision", &precision },
	};
	struct message_text to = { .used = 0 };

	ADD(&to, "%s" MEMBER "\"wording\":\t\"%s\",", count ? ", {"
	    : "{\n\t\"format\":\t\"fragsim-message\",\n\t\"version\":\t3,\n\t\"messages\":\t[{",
	    frag_wordings[m->wording].name);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ADD(&to, MEMBER);
		add_value(&to, rows[i].key, rows[i].value);
		ADD(&to, ",");
	}
	add_parts(&to, m);
	if (m->pool)
		ADD(&to, MEMBER "\"pool\":\t\"%s\",", m->pool);
	else
		ADD(&to, MEMBER "\"pool\":\tnull,");
	ADD(&to, MEMBER "\"verdict\":\t\"%s\"," MEMBER "\"nearly_full\":\t%s,",
	    frag_oom_cause_name(frag_message_cause(m)),
	    m->verdict == FRAG_SHORT_TIGHT ? "true" : "false");
	add_possible(&to, m);
	add_missing(&to, m);
	ADD(&to, "\n\t\t}");
	frag_outfile_write(out, to.text, to.used);
}
#undef ADD

void frag_message_write_end(struct frag_outfile *out, uint64_t more)
{
	char text[FRAG_NUMBER_ROOM + 40];

	snprintf(text, sizeof(text), ",\n\t\"more\":\t{\"messages\": %" PRIu64 "}", more);
	frag_outfile_write(out, "]", 1);
	if (more)
		frag_outfile_write(out, text, strlen(text));
	frag_outfile_write(out, "\n}\n", 3);
}
