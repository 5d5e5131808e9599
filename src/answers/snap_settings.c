/* snap_settings.c - what a snapshot that is written says of its allocator. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fragsim/version.h"
#include "policy/configure_events.h"
#include "policy/param.h"
#include "policy/policies.h"
#include "policy/pytorch_settings.h"
#include "answers/as_snapshot.h"

static void snap_settings_put_number(struct frag_outfile *out, const char *key, int64_t value)
{
	char *p;

	frag_snap_text(out, key);
	p = frag_outfile_room(out, FRAG_PICKLE_ROOM);
	if (p)
		frag_outfile_used(out, frag_pickle_i64(p, value));
}

static void begin_dict(struct frag_outfile *out, const char *key)
{
	if (key)
		frag_snap_text(out, key);
	frag_snap_op(out, FRAG_PICKLE_DICT);
	frag_snap_op(out, FRAG_PICKLE_MARK);
}

/* The values that PyTorch writes beside the string. */
static void put_values(struct frag_outfile *out, const uint64_t *param)
{
	uint64_t max_split = param[MAX_SPLIT_MB];
	char *p;

	snap_settings_put_number(out, "max_split_size",
				 max_split ? (int64_t)(max_split * MIB) : -1);
	frag_snap_text(out, "garbage_collection_threshold");
	p = frag_outfile_room(out, FRAG_PICKLE_ROOM);
	if (p)
		frag_outfile_used(out, frag_pickle_real(p, frag_pytorch_real(param[GC_THRESHOLD])));
	frag_snap_text(out, "expandable_segments");
	p = frag_outfile_room(out, FRAG_PICKLE_ROOM);
	if (p)
		frag_outfile_used(out, frag_pickle_bool(p, param[EXPANDABLE_SEGMENTS] != 0));
	begin_dict(out, "roundup_power2_divisions");
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t code = param[ROUNDUP] >> 4 * i & 15;
		char key[16];

		snprintf(key, sizeof(key), "%u", 1U << i);
		snap_settings_put_number(out, key, code ? 1 << code : 0);
	}
	frag_snap_op(out, FRAG_PICKLE_SETITEMS);
}

static void snap_settings_put_device(struct frag_outfile *out, const struct frag_device_figures *d)
{
	begin_dict(out, NULL);
	if (d->name) {
		frag_snap_text(out, "name");
		frag_snap_text(out, d->name);
	}
	snap_settings_put_number(out, "total_bytes", (int64_t)d->total);
	snap_settings_put_number(out, "context_bytes", (int64_t)d->context);
	snap_settings_put_number(out, "other_bytes", (int64_t)d->other);
	snap_settings_put_number(out, "granularity_bytes", (int64_t)d->granularity);
	frag_snap_op(out, FRAG_PICKLE_SETITEMS);
}

/* Our own: a viewer shows it beside the rest. */
static void put_origin(const struct frag_export *x)
{
	const struct frag_devices *devices = frag_sim_devices(x->sim);
	char value[FRAG_PARAM_TEXT];

	begin_dict(x->out, "fragsim");
	frag_snap_text(x->out, "version");
	frag_snap_text(x->out, FRAG_VERSION);
	frag_snap_text(x->out, "policy");
	frag_snap_text(x->out, x->choice->ops->name);
	begin_dict(x->out, "params");
	for (uint32_t i = 0; frag_export_param(x->choice, i, value); i++) {
		if (frag_param_is_omitted(x->choice, i))
			continue;
		frag_snap_text(x->out, x->choice->ops->params[i].name);
		frag_snap_text(x->out, value);
	}
	frag_snap_op(x->out, FRAG_PICKLE_SETITEMS);
	frag_snap_text(x->out, "time");
	frag_snap_text(x->out, frag_export_time_name(x));
	frag_snap_text(x->out, "devices");
	frag_snap_op(x->out, FRAG_PICKLE_LIST);
	frag_snap_op(x->out, FRAG_PICKLE_MARK);
	for (uint32_t i = 0; i < devices->count; i++)
		snap_settings_put_device(x->out, &devices->figures[i]);
	frag_snap_op(x->out, FRAG_PICKLE_APPENDS);
	frag_snap_op(x->out, FRAG_PICKLE_SETITEMS);
}

void frag_snap_settings(const struct frag_export *x)
{
	char conf[FRAG_CONF_ROOM];

	frag_conf_text(x->choice, conf, sizeof(conf));
	begin_dict(x->out, NULL);
	frag_snap_text(x->out, "PYTORCH_CUDA_ALLOC_CONF");
	frag_snap_text(x->out, conf);
	if (x->choice->ops == &frag_policy_pytorch)
		put_values(x->out, x->choice->param);
	put_origin(x);
	frag_snap_op(x->out, FRAG_PICKLE_SETITEMS);
}
