/*
 * scenario.c - the table of scenarios, one of them from header to end, and what it says as records
 * of the trace.
 */
#include "gen/gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"

#define GRANULARITY (UINT64_C(2) << 20)
#define DEVICES_MAX 64

static const struct frag_scenario *const scenarios[] = {
#define ADDRESS(name) &frag_scenario_##name,
	FRAG_SCENARIOS(ADDRESS)
	NULL,
};

const struct frag_scenario *const *frag_scenarios(void)
{
	return scenarios;
}

const struct frag_scenario *frag_scenario_find(const char *name)
{
	for (uint32_t i = 0; scenarios[i]; i++)
		if (strcmp(scenarios[i]->name, name) == 0)
			return scenarios[i];
	return NULL;
}

/* The command that makes this trace again: all options, the defaults too. */
static void scenario_describe(const struct frag_scenario *s, const uint64_t *option, char *buf,
			      size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "fragsim trace gen %s", s->name);

	for (uint32_t i = 0; s->options[i].name && used < size; i++) {
		const struct frag_gen_option *o = &s->options[i];

		if (o->type == FRAG_GEN_FLAG && !option[i])
			continue;
		used += (size_t)snprintf(buf + used, size - used, " --%s", o->name);
		if (used >= size || o->type == FRAG_GEN_FLAG)
			continue;
		if (o->type == FRAG_GEN_WORD)
			used += (size_t)snprintf(buf + used, size - used, " %s",
						 o->words[option[i]]);
		else
			used += (size_t)snprintf(buf + used, size - used, " %llu",
						 (unsigned long long)option[i]);
	}
}

static uint32_t scenario_device_count(const struct frag_scenario *s, const uint64_t *option)
{
	for (uint32_t i = 0; s->per_device && s->options[i].name; i++)
		if (strcmp(s->options[i].name, s->per_device) == 0)
			return (uint32_t)option[i];
	return 1;
}

static int scenario_begin(struct frag_gen *g, const struct frag_scenario *s,
			  struct frag_error *err)
{
	struct frag_device_figures devices[DEVICES_MAX];
	struct frag_trace_info info = {
		.devices = devices, .device_count = scenario_device_count(s, g->option),
	};
	char source[1024], meta[6 * sizeof(source) + sizeof("{\"source\":\"\"}")], *p;

	if (info.device_count > DEVICES_MAX)
		FRAG_BUG("more devices than the array holds");
	for (uint32_t i = 0; i < info.device_count; i++) {
		devices[i] = (struct frag_device_figures){ .granularity = GRANULARITY };
		if (s->device)
			devices[i] = *s->device;
	}
	scenario_describe(s, g->option, source, sizeof(source));
	p = frag_put_json(stpcpy(meta, "{\"source\":"), source, strlen(source));
	*p++ = '}';
	info.meta = (struct frag_text){ .text = meta, .length = (uint32_t)(p - meta) };
	return g->sink.ops->begin(&g->sink, &info, err);
}

int frag_scenario_write(const struct frag_scenario *s, const uint64_t *option, bool object,
			struct frag_outfile *out, bool (*stop)(void *none), struct frag_error *err)
{
	struct frag_gen g = {
		.option = option, .next_id = 1, .stop = stop,
		.sink = { .ops = frag_sink_named(object ? "object" : "lines"), .out = out },
	};
	int rc = s->check ? s->check(option, err) : 0;

	rc = rc ? rc : scenario_begin(&g, s, err);
	if (rc)
		return rc;
	s->emit(&g);
	rc = g.sink.ops->end(&g.sink, err);
	if (g.no_memory)
		return frag_fail_nomem(err);
	if (stop(NULL))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	return rc;
}

bool frag_gen_going(const struct frag_gen *g)
{
	return !g->no_memory && !g->sink.out->failed && !g->stop(NULL);
}

void frag_gen_write(struct frag_gen *g, const struct frag_record *rec)
{
	if (!g->no_memory && !g->sink.out->failed)
		g->sink.ops->event(&g->sink, rec, NULL, NULL);
}

/*
 * Ids count up and are never reused, so a scenario may keep one for as long as it likes. Device,
 * stream and pool are written where they are not 0.
 */
uint64_t frag_gen_alloc(struct frag_gen *g, uint64_t bytes, const char *tag)
{
	struct frag_record rec = {
		.members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE, .op = FRAG_OP_ALLOC,
		.id.number = g->next_id, .size = bytes, .device = g->device,
	};

	if (bytes > FRAG_GEN_MAX)
		FRAG_BUG("a scenario's option lets a block grow too large");
	if (g->device)
		rec.members |= FRAG_HAS_DEVICE;
	if (g->stream) {
		rec.members |= FRAG_HAS_STREAM;
		rec.stream.number = g->stream;
	}
	if (g->pool) {
		rec.members |= FRAG_HAS_POOL;
		rec.pool.number = g->pool;
	}
	if (tag) {
		rec.members |= FRAG_HAS_TAG;
		rec.tag = (struct frag_text){ .text = tag, .length = (uint32_t)strlen(tag) };
	}
	frag_gen_write(g, &rec);
	return g->next_id++;
}

void frag_gen_free(struct frag_gen *g, uint64_t id)
{
	frag_gen_write(g, &(struct frag_record){
		.members = FRAG_HAS_OP | FRAG_HAS_ID, .op = FRAG_OP_FREE, .id.number = id,
	});
}

void frag_gen_push(struct frag_gen *g, struct frag_gen_ids *ids, uint64_t id)
{
	if (!FRAG_GROW(ids->ids, ids->capacity, ids->count))
		g->no_memory = true;
	else
		ids->ids[ids->count++] = id;
}

