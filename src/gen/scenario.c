/*
 * scenario.c - the table of scenarios, their options, one of them from header to end, and what it
 * says as records of the trace.
 */
#include "gen/gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/parse.h"

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

void frag_scenario_defaults(const struct frag_scenario *s, uint64_t *option)
{
	for (uint32_t i = 0; s->options[i].name; i++)
		option[i] = s->options[i].fallback;
}

static int scenario_set_word(const struct frag_gen_option *o, uint64_t *value, const char *text,
			     struct frag_error *err)
{
	struct frag_name_list all = { .used = 0 };

	for (uint32_t i = 0; o->words[i]; i++) {
		if (strcmp(o->words[i], text) == 0) {
			*value = i;
			return 0;
		}
		frag_listed_add(&all, o->words[i]);
	}
	return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: %s is required", o->name, text,
			 frag_listed_text(&all, " or "));
}

/*
 * The message names the range that the table gives, so an option is defined in one
 * place.
 */
int frag_scenario_set(const struct frag_scenario *s, uint64_t *option, uint32_t index,
		      const char *text, struct frag_error *err)
{
	const struct frag_gen_option *o = &s->options[index];
	char max[32] = "to 2^53-1", advice[FRAG_ADVICE_ROOM] = "";
	uint64_t value = 1;
	bool good;

	FRAG_ASSERT(text || o->type == FRAG_GEN_FLAG);
	if (o->type == FRAG_GEN_WORD)
		return scenario_set_word(o, &option[index], text, err);
	if (o->type == FRAG_GEN_SIZE)
		good = frag_parse_size(text, strlen(text), true, &value);
	else
		good = o->type == FRAG_GEN_FLAG || frag_parse_count(text, strlen(text), &value);
	if (o->type == FRAG_GEN_SIZE && !good)
		frag_size_advice(advice, text, strlen(text));
	if (o->max < FRAG_GEN_MAX)
		snprintf(max, sizeof(max), "to %llu", (unsigned long long)o->max);
	if (o->type != FRAG_GEN_FLAG && (!good || value < o->min || value > o->max))
		return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: %s from %llu %s is required%s%s",
				 o->name, text, o->type == FRAG_GEN_SIZE ? "a size" : "a number",
				 (unsigned long long)o->min, max, *advice ? "; " : "", advice);
	option[index] = value;
	return 0;
}

/* The command that makes this trace again: all options, the defaults too. */
static void scenario_describe(const struct frag_scenario *s, const uint64_t *option, char *buf,
			      size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "fragsim gen %s", s->name);

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

static void scenario_begin(struct frag_gen *g, const struct frag_scenario *s, bool object,
			   struct frag_outfile *out)
{
	struct frag_device_figures devices[DEVICES_MAX];
	uint32_t count = scenario_device_count(s, g->option);
	char source[1024];

	if (count > DEVICES_MAX)
		FRAG_BUG("more devices than the array holds");
	for (uint32_t i = 0; i < count; i++) {
		devices[i] = (struct frag_device_figures){ .granularity = GRANULARITY };
		if (s->device)
			devices[i] = *s->device;
	}
	scenario_describe(s, g->option, source, sizeof(source));
	frag_writer_begin(&g->writer, out, object, devices, count,
			  (struct frag_text){ .text = NULL }, source);
}

int frag_scenario_write(const struct frag_scenario *s, const uint64_t *option, bool object,
			struct frag_outfile *out, bool (*stop)(void *ctx), void *ctx,
			struct frag_error *err)
{
	struct frag_gen g = { .option = option, .next_id = 1, .stop = stop, .ctx = ctx };
	int rc = s->check ? s->check(option, err) : 0;

	if (rc)
		return rc;
	scenario_begin(&g, s, object, out);
	s->emit(&g);
	frag_writer_end(&g.writer);
	if (g.no_memory)
		return frag_fail_nomem(err);
	if (stop && stop(ctx))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	return frag_outfile_status(out, err);
}

bool frag_gen_going(const struct frag_gen *g)
{
	return !g->no_memory && !g->writer.out->failed && !(g->stop && g->stop(g->ctx));
}

static void write_record(struct frag_gen *g, const struct frag_record *rec)
{
	if (!g->no_memory && !g->writer.out->failed)
		frag_writer_event(&g->writer, rec);
}

/* Device, stream and pool are written where they are not 0. */
static struct frag_record emit_record_of(const struct frag_gen *g, enum frag_op op)
{
	struct frag_record rec = { .members = FRAG_HAS_OP, .op = op, .device = g->device };

	if (g->device)
		rec.members |= FRAG_HAS_DEVICE;
	return rec;
}

/*
 * Ids count up and are never reused, so a scenario may keep one for as long as it
 * likes.
 */
uint64_t frag_gen_alloc(struct frag_gen *g, uint64_t bytes, const char *tag)
{
	struct frag_record rec = emit_record_of(g, FRAG_OP_ALLOC);

	if (bytes > FRAG_GEN_MAX)
		FRAG_BUG("a scenario's option lets a block grow too large");
	rec.members |= FRAG_HAS_ID | FRAG_HAS_SIZE;
	rec.id.number = g->next_id;
	rec.size = bytes;
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
	write_record(g, &rec);
	return g->next_id++;
}

static void emit_of_block(struct frag_gen *g, enum frag_op op, uint64_t id)
{
	const struct frag_record rec = {
		.members = FRAG_HAS_OP | FRAG_HAS_ID, .op = op, .id.number = id,
	};

	write_record(g, &rec);
}

void frag_gen_free(struct frag_gen *g, uint64_t id)
{
	emit_of_block(g, FRAG_OP_FREE, id);
}

void frag_gen_record_stream(struct frag_gen *g, uint64_t id, uint64_t stream)
{
	const struct frag_record rec = {
		.members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_STREAM,
		.op = FRAG_OP_RECORD_STREAM, .id.number = id, .stream.number = stream,
	};

	write_record(g, &rec);
}

void frag_gen_sync(struct frag_gen *g)
{
	const struct frag_record rec = emit_record_of(g, FRAG_OP_SYNC);

	write_record(g, &rec);
}

void frag_gen_empty_cache(struct frag_gen *g)
{
	const struct frag_record rec = emit_record_of(g, FRAG_OP_EMPTY_CACHE);

	write_record(g, &rec);
}

void frag_gen_mark(struct frag_gen *g, const char *word, uint64_t number)
{
	struct frag_record rec = { .members = FRAG_HAS_OP | FRAG_HAS_NAME, .op = FRAG_OP_MARK };
	char name[64];

	rec.text.length = (uint32_t)snprintf(name, sizeof(name), "%.40s %llu", word,
					     (unsigned long long)number);
	rec.text.text = name;
	write_record(g, &rec);
}

void frag_gen_push(struct frag_gen *g, struct frag_gen_ids *ids, uint64_t id)
{
	if (!FRAG_GROW(ids->ids, ids->capacity, ids->count))
		g->no_memory = true;
	else
		ids->ids[ids->count++] = id;
}

uint64_t frag_gen_pop(struct frag_gen_ids *ids)
{
	return ids->count ? ids->ids[--ids->count] : 0;
}

void frag_gen_free_all(struct frag_gen *g, struct frag_gen_ids *ids)
{
	while (ids->count)
		frag_gen_free(g, frag_gen_pop(ids));
	free(ids->ids);
	*ids = (struct frag_gen_ids){ .ids = NULL };
}
