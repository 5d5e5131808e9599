/*
 * snapshot.h - a memory snapshot of PyTorch: the file's contents, the initial state of its
 * history, and the records derived from both.
 *
 * The steps: load (values to events, segments, blocks), rewind (from the last
 * state back to the first), plan (one entry a record, with the device calls that
 * the log shows for it). snapshot_source.c hands the plan out as records.
 */
#pragma once

#include "fragsim/trace.h"
#include "base/json.h"
#include "input/input.h"
#include "input/value_tree.h"
#include "trace/reader.h"
#include "trace/name_tables.h"

#define FRAG_NO_POOL UINT32_MAX
#define FRAG_SMALL_SEGMENT (UINT64_C(2) << 20)  /* small pools have no others */
#define FRAG_SMALL_REQUEST (UINT64_C(1) << 20)  /* and none larger */

enum frag_action {
	FRAG_ACT_ALLOC,
	FRAG_ACT_FREE_REQUESTED,
	FRAG_ACT_FREE_COMPLETED,
	FRAG_ACT_SEGMENT_ALLOC,
	FRAG_ACT_SEGMENT_FREE,
	FRAG_ACT_SEGMENT_MAP,
	FRAG_ACT_SEGMENT_UNMAP,
	FRAG_ACT_OOM,
	FRAG_ACT_SNAPSHOT,
	FRAG_ACT_ANNOTATE,
	FRAG_ACT_OTHER,         /* unknown: left out */
};

/* As PyTorch writes it: "segment_alloc". */
extern const char *const frag_action_names[];

/* The meaning of an event of the log, given the events around it. */
enum frag_role {
	FRAG_ROLE_NONE,         /* says nothing new */
	FRAG_ROLE_ALLOC,
	FRAG_ROLE_FREE,         /* and at once reusable */
	FRAG_ROLE_DEFER,        /* freed, but still in use */
	FRAG_ROLE_COMPLETE,     /* no longer in use */
	FRAG_ROLE_CALL,         /* of the device */
	FRAG_ROLE_OOM,
	FRAG_ROLE_MARK,
};

struct frag_logged {
	uint64_t addr;          /* oom: bytes free on the device */
	uint64_t size;          /* bytes, as asked; a segment's */
	uint64_t stream;
	double   t;             /* microseconds; only where the log has times */
	uint32_t frames;        /* a list's number, plus 1; 0: none */
	uint32_t note;          /* of the notes, plus 1: text of the program's own */
	uint32_t pool;          /* of the pools, or FRAG_NO_POOL */
	uint8_t  action, role;
	uint16_t origin;        /* of the origins, plus 1; 0: none */
};

/* Where an event comes from, besides its stack: numbers of values, plus 1; 0: nothing. */
struct frag_event_origin {
	uint32_t context;       /* text: which compilation */
	uint32_t forward;       /* list of texts: the stack of the forward pass */
};

/* A block of a state: the last one, or the first. */
struct frag_live_block {
	uint64_t addr, requested;
	uint64_t bytes;         /* 0: not known */
	uint64_t stream;
	uint32_t frames, pool;
	bool     pending;
	bool     sized;         /* as requested; else `requested` is the block's own */
	bool     gone;          /* rewinding took it away */
};

struct frag_region {
	uint64_t addr, bytes, stream;
	uint32_t pool;
	bool     large, range;
	bool     known;         /* the file says large or small; else it is a guess */
	bool     framed;        /* of the last state: with the stack that reserved it */
};

/* The plan for a device call of the log. */
struct frag_logged_call {
	uint64_t addr, bytes;
	uint32_t event;         /* of the device's log */
	uint32_t pool;
	uint8_t  action;
};

struct frag_snap_device {
	struct frag_logged *log;
	uint32_t log_count, log_capacity;
	struct frag_live_block *first_live;   /* live blocks of the last state, then of the first */
	uint32_t first_live_count, first_live_capacity;
	struct frag_region *regions;    /* segments; likewise */
	uint32_t region_count, region_capacity;
	struct frag_logged_call *calls; /* in the order of the log */
	uint32_t call_count, call_capacity;
	struct frag_initial *initial;   /* the request that creates the initial state */
	uint32_t initial_count, initial_capacity;
	struct frag_spot *places;      /* one for each block held */
	struct frag_extent *runs;          /* of the ranges among initial */
	uint32_t *order;                /* ranks by address of the segments, as they were made */
	uint32_t order_count;           /* 0: not known */
	uint64_t end_reserved, end_allocated;   /* bytes, as the last state has them */
	uint64_t capacity;              /* bytes, as an out-of-memory shows; 0: unknown */
	uint64_t lost;                  /* contradictions: events that are not in the log */
	struct frag_region *end_regions; /* of the last state, by address; where pools matter */
	uint32_t end_count;
	uint32_t start_count;           /* of regions: those of the first state */
	uint64_t start_bytes;
	uint32_t plan_initial;          /* the plan's records before the log's first */
	uint32_t alloc_count, homeless; /* allocs of the log; those in no segment of it */
	uint32_t oom_count, first_oom;  /* of the log */
	uint32_t last_oom;              /* of the log: no request follows; else UINT32_MAX */
	bool     any_map;               /* an expandable range */
	bool     forced;                /* a request released memory before it reserved more */
	bool     host;                  /* pinned memory of the host */
};

enum frag_plan_kind {
	FRAG_PLAN_INITIAL,      /* alloc of a block of the first state */
	FRAG_PLAN_INITIAL_FREE, /* its free, where it was pending then */
	FRAG_PLAN_ALLOC,
	FRAG_PLAN_FREE,
	FRAG_PLAN_DEFER,
	FRAG_PLAN_COMPLETE,
	FRAG_PLAN_EMPTY_CACHE,
	FRAG_PLAN_RELEASE_POOL, /* index: an event of the log that shows it */
	FRAG_PLAN_OOM,          /* the request that failed ... */
	FRAG_PLAN_OOM_FREE,     /* ... and is over, as the program went on without it */
	FRAG_PLAN_MARK,
	FRAG_PLAN_REMARK,       /* a mark of the annotations: index is one of them */
	FRAG_PLAN_CONFIGURE,    /* the change of settings; it belongs to the record after it */
};

/* One record. Its number in the plan is its step. */
struct frag_snapshot_plan {
	uint32_t index;         /* of the device's log, of held, or of the remarks */
	uint32_t id;
	uint32_t calls_end;     /* device calls of the log up to and with this step */
	uint16_t device;
	uint8_t  kind;
};

struct frag_annotation {
	double t;
	struct frag_text text;
	uint32_t device;
	uint32_t order;         /* in the file */
	uint8_t stage;          /* 0 none, 1 begins, 2 ends */
	bool named;             /* the text has its suffix */
};

/* How the members of blocks and events are found. */
struct frag_snapshot_load {
	struct frag_layouts blocks, events;
	uint32_t actions[FRAG_ACT_OTHER];       /* numbers, plus 1, of the texts last seen */
	uint32_t no_context;                    /* likewise of "N/A" */
};

/* What the names of a function and its file imply of a frame, whichever its line. */
struct frag_frame_kind {
	struct frag_text file, name;    /* borrowed; text NULL: there is none */
	bool has_line, known;
	uint8_t origin, maker, purpose; /* enum frag_origin, frag_maker, frag_purpose, and flags */
};
#define FRAG_FRAME_KINDS 1024

/* What is known about a list of frames. */
struct frag_snapshot_stack {
	struct frag_text tag;
	uint32_t number;                /* in the table of stacks; 0: not known */
	uint16_t maker;                 /* enum frag_maker, with flags */
	bool judged, tagged;            /* maker, tag are known */
};

struct frag_snapshot {
	struct frag_whole whole;
	struct frag_values values;
	struct frag_value root;
	struct frag_snapshot_load load;
	struct frag_logged *taken;      /* events, as they were read; NULL: a device has them as its log */
	uint32_t taken_count, taken_capacity;
	struct frag_snap_device *devices;
	uint32_t device_count;
	struct frag_device_figures *figures;
	struct {
		uint64_t a, b;
		struct frag_handle name;        /* of the trace: "a_b" */
	} *pools;                       /* 0 is the default */
	uint32_t pool_count, pool_capacity;
	struct frag_text *notes;
	uint32_t note_count, note_capacity;
	struct frag_event_origin *origins;      /* each once */
	uint32_t origin_count, origin_capacity;
	struct frag_map origin_at;      /* both numbers -> which */
	struct frag_annotation *remarks;
	uint32_t remark_count, remark_capacity;
	struct frag_map known_at;       /* by number of list plus 1: where it is among ... */
	struct frag_snapshot_stack *known;      /* ... the stacks with such an entry */
	uint32_t known_count, known_capacity;
	struct frag_text backward;      /* tag of the request that began the pass; NULL: none runs */
	enum frag_stacks stacks;
	struct frag_stack_table table;       /* whole stacks, built on request */
	uint32_t *frame_of;             /* its numbers, by number of dict */
	struct frag_frame_kind frame_kinds[FRAG_FRAME_KINDS];   /* those seen last, by a hash */
	struct frag_layouts frame_layouts;
	struct frag_snapshot_plan *plan;
	uint32_t plan_count, plan_capacity;
	struct frag_initial *initial;   /* of all devices */
	uint32_t initial_count;
	uint64_t other_actions;         /* events of an unknown action; the first one's: */
	char other_action[64];
	char *first_settings;           /* before `change` */
	char *change;                   /* settings that came in mid-run; NULL: none did */
	uint32_t change_at;             /* a record of the plan */
	struct frag_first_state beginning;        /* the same, as a trace has it; blocks and orders owned */
	double first_time;
	uint64_t seen;          /* events and blocks, against lists that are shared */
	bool has_history, has_times;
	bool sized;             /* the devices' capacity is given, not taken from the recording */
	bool with_host;         /* pinned host memory is the last device, where there is any */
	struct frag_host_memory host;   /* the file's data of it, whether or not that is a device */
	struct frag_error *err;
};

/* Makes log entries of the events while the pickle is read. */
struct frag_taker frag_snapshot_taker(struct frag_snapshot *s);
/* From the root value: logs, last states, pools, pinned host memory. -FRAG_ETRACE */
int frag_snapshot_load(struct frag_snapshot *s);
/* Does a segment of this many bytes belong to the large pool? */
bool frag_snapshot_is_large(const struct frag_snap_device *d, uint64_t bytes);
/*
 * From the last state to the first, and what each event of the log means; then segments of the
 * first state with their blocks, as the engine can begin with them.
 */
int frag_snapshot_rewind(struct frag_snapshot *s);
/* The records, and the order of the segments by address. */
int frag_snapshot_plan(struct frag_snapshot *s);
/* From both what a trace begins with. */
int frag_snapshot_begin(struct frag_snapshot *s);

/*
 * A change of settings, instead of an earlier one: `before` until the record `step` of a plan
 * without a change, `after` from there on; NULL: none. False: out of memory.
 */
bool frag_snapshot_change(struct frag_snapshot *s, uint32_t step, const char *before,
			  const char *after);

/*
 * When it happened, in microseconds; only where the log has times. Blocks of the first state are
 * older than any of them, so they have the first.
 */
static inline double frag_snapshot_time(const struct frag_snapshot *s,
					const struct frag_snapshot_plan *p)
{
	p += p->kind == FRAG_PLAN_CONFIGURE;
	if (p->kind == FRAG_PLAN_INITIAL || p->kind == FRAG_PLAN_INITIAL_FREE)
		return s->first_time;
	if (p->kind == FRAG_PLAN_REMARK)
		return s->remarks[p->index].t;
	return s->devices[p->device].log[p->index].t;
}

/*
 * Describes the stack of a request in its record, and in the tag the note, if it fits: the
 * innermost frame of the program, and the functions of other packages that it called; the part of
 * the program; and the number of the whole stack in the table. The tag may be in the buffer.
 */
#define FRAG_TAG_ROOM 1064
enum frag_add frag_snapshot_tag(struct frag_snapshot *s, uint32_t frames, uint32_t note,
				char room[FRAG_TAG_ROOM], struct frag_record *rec);

/* In rising order of how much the origin reveals about the program. */
enum frag_origin {
	FRAG_ORIGIN_NATIVE,     /* no line of a Python file */
	FRAG_ORIGIN_TORCH,      /* in a folder of PyTorch */
	FRAG_ORIGIN_PYTHON,     /* of Python itself, or record_torch.py */
	FRAG_ORIGIN_PACKAGE,    /* of another package */
	FRAG_ORIGIN_PROGRAM,
};

/* Whose code a frame of a stack is in; the rule is in fragsim-formats(5). */
enum frag_origin frag_frame_origin(struct frag_text file, uint64_t line);

/* Frame i of a list of frames, the innermost first; false: there is none. */
bool frag_snapshot_frame(const struct frag_snapshot *s, uint32_t frames, uint32_t i, struct frag_frame *frame);

/* The device that it was recorded on: CUDA, unless the file shows another. */
enum frag_accelerator frag_snapshot_accelerator(const struct frag_snapshot *s);

/* The settings string that it was recorded under; false where there is none. */
bool frag_snapshot_settings(const struct frag_snapshot *s, char *buf, size_t size);
/* The same put together from the values that the allocator had; false: the file has none. */
bool frag_snapshot_settings_values(const struct frag_snapshot *s, char *buf, size_t size);

/* The allocator's settings as the file has them, a member of this name; nothing where it has none. */
void frag_snapshot_put_settings(const struct frag_snapshot *s, struct frag_node_ref in, const char *name);

/*
 * The PyTorch releases, 2.least to 2.most, whose settings have exactly the names in the file;
 * both 0: 2.0 or older, as its blocks have no address.
 * why: the names that decide. False: the file does not determine the releases.
 */
bool frag_snapshot_releases(const struct frag_snapshot *s, uint32_t *least, uint32_t *most,
			    const char **why);

/* Notes of settings, members and actions that no known release writes. False: there are none. */
bool frag_snapshot_note_unknown(const struct frag_snapshot *s, const struct frag_log *log);

/* Bytes, as the recording had them; a block's are its request's, rounded, but at the end. */
struct frag_recorded {
	uint64_t peak_reserved, end_reserved;
	uint64_t peak_allocated, end_allocated;
};

void frag_snapshot_recorded(const struct frag_snapshot *s, uint32_t device,
			    struct frag_recorded *out);

/* The members that can contain a version, ended by NULL; false: the file has none of this name. */
extern const char *const frag_snapshot_version_names[];
bool frag_snapshot_version(const struct frag_snapshot *s, uint32_t which, char *buf, size_t size);

/* Did the ring that the events were recorded in drop older ones? Few files say it. */
enum frag_overflow { FRAG_OVERFLOW_UNKNOWN, FRAG_OVERFLOW_NONE, FRAG_OVERFLOWED };

/* max: the events that the ring buffer can store; 0: not known. */
enum frag_overflow frag_snapshot_overflow(const struct frag_snapshot *s, uint64_t *max);
/* How many allocations the ring dropped the events of; false: not known, or none. */
bool frag_snapshot_lost(const struct frag_snapshot *s, uint64_t *allocs);

/*
 * Which part of the run it contains, except an out-of-memory at its end. An event that the file
 * shows to be missing is lost: so are those of blocks and segments that have stacks, and so not
 * from before the recording.
 */
struct frag_scope frag_snapshot_scope(const struct frag_snapshot *s);
/* Is the log of a device, which begins in mid-run, as long as a usual ring buffer? */
bool frag_snapshot_dropped(const struct frag_snapshot *s, const struct frag_snap_device *d);

/* The snapshot that a source reads from; NULL where it reads something else. */
struct frag_snapshot *frag_snapshot_of(const struct frag_source_ops *ops, void *state);

/*
 * A second source over the same state, once that is rewound; it does not own it. Its records have no
 * tags, stacks and times, which decide nothing.
 */
extern const struct frag_source_ops frag_snapshot_borrowed;

/*
 * Is the file a pickle, compressed or not, whose first names are those of a snapshot? One that
 * cannot be read is none. -FRAG_ENOMEM
 */
int frag_snapshot_is_file(const char *path, bool *is, struct frag_error *err);

/* Snapshots as formats of traces: a pickle, JSON, an HTML page of the viewer. */
extern const struct frag_reader frag_reader_pickle, frag_reader_snapshot_json,
	frag_reader_snapshot_page;
