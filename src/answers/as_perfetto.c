/*
 * as_perfetto.c - a simulated run as a Chrome trace: counters over time, and
 * what happened at once. A counter is written where it changes.
 */
#include <stdlib.h>
#include <string.h>

#include "fragsim/version.h"
#include "policy/param.h"
#include "answers/export.h"
#include "answers/append.h"

#define LINE_ROOM 512
#define TIME_ROOM 64

#define PERCENTS 2

/* The bytes as the trace wrote them. */
struct last {
	struct frag_metrics m;
	char percent[PERCENTS][FRAG_NUMBER_ROOM];
	bool any;
};

struct perfetto {
	struct last *lasts;             /* one a device */
	char time[TIME_ROOM];           /* of the last event that has one */
	size_t time_length;
	bool any;                       /* event of the file */
};

static char *begin_event(struct perfetto *s, char *p, const char *kind, uint32_t device)
{
	p = s->any ? PUT(p, ",\n{\"ph\":\"") : PUT(p, "{\"ph\":\"");
	s->any = true;
	p = PUT(put_word(p, kind), "\",\"pid\":");
	return PUT(frag_put_u64(p, (uint64_t)device + 1), ",\"tid\":0");
}

/* The trace's own text where it has one. */
static void note_time(struct frag_export *x, const struct frag_event *ev)
{
	struct perfetto *s = x->state;
	char *end;

	if (!x->by_time)
		end = frag_put_u64(s->time, ev->step);
	else if (!(ev->members & FRAG_HAS_T))
		return;
	else if (ev->t_text.text && ev->t_text.length < TIME_ROOM)
		end = put_bytes(s->time, ev->t_text.text, ev->t_text.length);
	else
		end = frag_put_double(s->time, ev->t);
	s->time_length = (size_t)(end - s->time);
}

static char *as_perfetto_put_time(const struct perfetto *s, char *p)
{
	return put_bytes(PUT(p, ",\"ts\":"), s->time, s->time_length);
}

static char *begin_counter(struct perfetto *s, char *p, uint32_t device, const char *name)
{
	p = as_perfetto_put_time(s, begin_event(s, p, "C", device));
	return PUT(put_word(PUT(p, ",\"name\":\""), name), "\",\"args\":{\"");
}

/* A change is one that can be seen. */
static char *put_percent(struct perfetto *s, char *p, uint32_t device, const char *name,
			 double value, char last[FRAG_NUMBER_ROOM])
{
	char text[FRAG_NUMBER_ROOM];

	*frag_put_fixed4(text, value) = '\0';
	if (strcmp(text, last) == 0)
		return p;
	memcpy(last, text, sizeof(text));
	p = PUT(begin_counter(s, p, device, name), "percent\":");
	return PUT(put_word(p, text), "}}");
}

/*
 * A counter keeps its value until the next event, so what has not changed since
 * the last step is not written.
 */
static int put_counters(struct frag_export *x, uint32_t device, const struct frag_metrics *m,
			struct frag_error *err)
{
	struct perfetto *s = x->state;
	struct last *last = &s->lasts[device];
	char *p = frag_outfile_room(x->out, LINE_ROOM * 5);

	if (!p)
		return frag_outfile_status(x->out, err);
#define X(metric, name)                                                       \
	if (!last->any || last->m.metric != m->metric) {                      \
		p = PUT(begin_counter(s, p, device, name), "bytes\":");       \
		p = PUT(frag_put_u64(p, m->metric), "}}");                    \
	}
	X(reserved, "reserved")
	X(allocated, "allocated")
	X(largest_free, "largest free")
#undef X
	p = put_percent(s, p, device, "fi", m->fi, last->percent[0]);
	p = put_percent(s, p, device, "fi_device", m->fi_device, last->percent[1]);
	last->m = *m;
	last->any = true;
	frag_outfile_used(x->out, p);
	return frag_outfile_status(x->out, err);
}

static char *begin_instant(struct perfetto *s, char *p, const struct frag_step *step,
			   const char *category)
{
	p = as_perfetto_put_time(s, begin_event(s, p, "i", step->device));
	return PUT(put_word(PUT(p, ",\"s\":\"p\",\"cat\":\""), category), "\",\"name\":");
}

static int as_perfetto_put_mark(struct frag_export *x, const struct frag_step *step,
				struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	char *p = frag_outfile_room(x->out, LINE_ROOM + (size_t)ev->text.length * 6);

	if (!p)
		return frag_outfile_status(x->out, err);
	p = frag_put_json(begin_instant(x->state, p, step, "mark"), ev->text.text, ev->text.length);
	p = put_member(PUT(p, ",\"args\":{"), "step", ev->step);
	frag_outfile_used(x->out, PUT(p, "}}"));
	return frag_outfile_status(x->out, err);
}

/* An instant event: a viewer shows it across all counters of the device at its time. */
static int as_perfetto_put_oom(struct frag_export *x, const struct frag_step *step,
			       struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	const struct frag_totals *totals = frag_heap_totals(frag_sim_heap(x->sim, step->device));
	char *p = frag_outfile_room(x->out, LINE_ROOM + (ev->id.text ? (size_t)ev->id.number * 6
							  : 0));

	if (!p)
		return frag_outfile_status(x->out, err);
	p = PUT(begin_instant(x->state, p, step, "oom"), "\"out of memory\",\"args\":{");
	p = put_member(p, "step", ev->step);
	if (shows_id(ev))
		p = put_handle_json(PUT(p, ",\"id\":"), &ev->id);
	if (shows_size(ev))
		p = put_member(PUT(p, ","), "size", ev->bytes);
	p = put_member(PUT(p, ","), "tried", totals->tried);
	if (step->metrics->limited)
		p = frag_put_i64(PUT(p, ",\"device_free\":"), step->metrics->device_free);
	frag_outfile_used(x->out, PUT(p, "}}"));
	return frag_outfile_status(x->out, err);
}

static int perfetto_step(struct frag_export *x, const struct frag_step *step,
			 struct frag_error *err)
{
	int rc;

	note_time(x, step->event);
	rc = put_counters(x, step->device, step->metrics, err);
	if (!rc && step->status == FRAG_STEP_OOM)
		rc = as_perfetto_put_oom(x, step, err);
	else if (!rc && step->event->op == FRAG_OP_MARK && step->status == FRAG_STEP_OK)
		rc = as_perfetto_put_mark(x, step, err);
	return rc;
}

/* A process for each device. */
static int name_device(struct frag_export *x, uint32_t device, struct frag_error *err)
{
	const char *name = frag_sim_devices(x->sim)->figures[device].name;
	const size_t length = name ? strlen(name) : 0;
	struct perfetto *s = x->state;
	char *text = malloc(length + 64);
	char *p = text ? frag_outfile_room(x->out, LINE_ROOM + (length + 64) * 6) : NULL, *end;

	if (!p) {
		free(text);
		return text ? frag_outfile_status(x->out, err) : frag_fail_nomem(err);
	}
	end = frag_put_u64(PUT(text, "device "), device);
	if (name)
		end = put_word(PUT(end, ": "), name);
	p = begin_event(s, p, "M", device);
	p = PUT(p, ",\"name\":\"process_name\",\"args\":{\"name\":");
	p = frag_put_json(p, text, (size_t)(end - text));
	frag_outfile_used(x->out, PUT(p, "}}"));
	free(text);
	return frag_outfile_status(x->out, err);
}

static int perfetto_begin(struct frag_export *x, struct frag_error *err)
{
	static const char head[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
	uint32_t devices = frag_sim_devices(x->sim)->count;
	struct perfetto *s = x->state = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s)
		return frag_fail_nomem(err);
	s->lasts = calloc(devices, sizeof(*s->lasts));
	if (!s->lasts)
		return frag_fail_nomem(err);
	s->time[0] = '0';
	s->time_length = 1;
	frag_outfile_write(x->out, head, sizeof(head) - 1);
	for (uint32_t d = 0; d < devices && !rc; d++)
		rc = name_device(x, d, err);
	return rc;
}

/* The unit of the times comes after the events, as the first event shows it. */
static int perfetto_end(struct frag_export *x, struct frag_error *err)
{
	char value[FRAG_PARAM_TEXT];
	char *p = frag_outfile_room(x->out, LINE_ROOM * 2 + sizeof(x->choice->text) * 6);

	if (p) {
		p = PUT(p,
			"\n],\"otherData\":{\"producer\":\"fragsim " FRAG_VERSION "\",\"time\":\"");
		p = x->by_time ? PUT(p, "t of the trace, in microseconds")
			       : PUT(p, "events: the trace has no times");
		p = PUT(p, "\",\"policy\":");
		p = frag_put_json(p, x->choice->ops->name, strlen(x->choice->ops->name));
		frag_outfile_used(x->out, PUT(p, ",\"params\":{"));
	}
	for (uint32_t i = 0; frag_export_param(x->choice, i, value); i++) {
		if (frag_param_is_omitted(x->choice, i))
			continue;
		const char *name = x->choice->ops->params[i].name;

		p = frag_outfile_room(x->out, (strlen(name) + strlen(value)) * 6 + 16);
		if (!p)
			break;
		if (i)
			*p++ = ',';
		p = frag_put_json(p, name, strlen(name));
		*p++ = ':';
		frag_outfile_used(x->out, frag_put_json(p, value, strlen(value)));
	}
	frag_outfile_write(x->out, "}}}\n", 4);
	return frag_outfile_status(x->out, err);
}

static void perfetto_fini(struct frag_export *x)
{
	struct perfetto *s = x->state;

	if (s)
		free(s->lasts);
	free(s);
	x->state = NULL;
}

const struct frag_export_ops frag_export_perfetto = {
	.name = "perfetto",
	.summary = "a Chrome trace of counters, for Perfetto and chrome://tracing",
	.begin = perfetto_begin,
	.step = perfetto_step,
	.end = perfetto_end,
	.fini = perfetto_fini,
};
