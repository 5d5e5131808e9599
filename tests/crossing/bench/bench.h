/*
 * bench.h - what is measured, on which traces, and what came out.
 *
 * A case is a made-up trace with the measures that are taken on it. Repetitions
 * go round all measures of the case, so that a slow minute of the machine hits
 * them alike; the least of them counts.
 */
#pragma once

#include <stdio.h>

#include "base/json.h"
#include "crossing/bench/workload.h"
#include "fragsim/engine.h"

#define BENCH_REPEATS_MAX 16
#define BENCH_MEASURES_MAX 32

/* What a measure works on; made once a case. */
struct bench_subject {
	struct bench_spec spec;
	uint64_t allocs, peak;  /* what the workload holds: results must agree */
	uint64_t lines_bytes;   /* of the lines form */
	char *lines, *object, *binary;  /* paths; the files are there where a measure needs them */
	char *window;           /* BENCH_WINDOW bytes, to read through */
	struct bench_tape *tape;        /* resolved events; NULL where none are needed */
};
#define BENCH_WINDOW ((size_t)32 << 20)

struct bench_sample {
	uint64_t ns;            /* for `events` of them; of the clock on the wall where
				 * threads are compared, else of the processor */
	uint64_t events;
	uint64_t memory;        /* peak bytes of a process of its own; 0: not measured */
};

enum bench_kind {
	BENCH_BOUND, BENCH_READ, BENCH_DECODE, BENCH_BINARY, BENCH_IDS, BENCH_FEED, BENCH_ROWS,
	BENCH_LINES, BENCH_OBJECT, BENCH_THREADS, BENCH_LEVELS,
	BENCH_KINDS
};

struct bench_measure {
	enum bench_kind kind;
	const char *name;       /* in the table and the JSON */
	const char *policies[2];
	uint32_t threads;
	enum frag_level level;
	int (*take)(const struct bench_measure *m, struct bench_subject *s,
		    struct bench_sample *out, struct frag_error *err);
};

struct bench_series {
	struct bench_sample samples[BENCH_REPEATS_MAX];
	uint32_t count;         /* 0: not taken on this case */
};

struct bench_plan {
	const char *name;
	struct bench_spec spec;
	uint32_t kinds;         /* bits of 1 << enum bench_kind */
	uint32_t repeats;
};

struct bench_case {
	struct bench_plan plan;
	uint64_t lines_bytes;
	struct bench_series series[BENCH_MEASURES_MAX];
};

/* What loading a snapshot costs; nanoseconds of the processor. */
struct bench_snapshot {
	const char *name;
	uint64_t bytes;
	uint64_t python_ns, values_ns, open_ns;
	uint64_t memory;        /* peak bytes of a run of it, the program and all */
	uint32_t repeats;
};
#define BENCH_SNAPSHOTS_MAX 2

/* A recorded trace on a tape: read once, run many times. */
struct bench_recorded {
	char name[64];
	uint64_t events, tape_bytes;
	uint64_t read_ns, all_ns, peaks_ns, survive_ns; /* the last three: a whole run */
	uint64_t total, oom_ns; /* and one on a device of this size, up to its OOM */
	uint64_t copy_ns, del_ns;       /* of a run half way, and of its copy */
	uint64_t live;          /* blocks that it holds there */
	uint64_t memory_one, memory_many;       /* peak bytes of a process with one run, with
						 * BENCH_RERUNS */
};
#define BENCH_RECORDED_MAX 32
#define BENCH_RERUNS 1000

/* All recorded traces under many settings, on all processors: a task a simulation. */
struct bench_sweep {
	uint32_t traces, settings, threads;
	uint64_t events;        /* of all simulations of one level */
	uint64_t read_ns;       /* the clock on the wall, as all here: the tapes, one a task */
	uint64_t ns[3];         /* by enum frag_level */
};

/*
 * An event under a policy while there are so many blocks, free or live; and under no policy,
 * which comes first, a step from one of so many places of memory to another. What an event takes
 * may grow by a logarithm and by cache misses.
 */
#define BENCH_SIZES 3
struct bench_growth {
	const char *things, *policy;    /* NULL: the places of memory */
	double ns[BENCH_SIZES];         /* negative: given up, as too long */
	bool bad;                       /* nothing so harmless explains it */
};
#define BENCH_GROWTHS_MAX 64

struct bench_report {
	const struct bench_measure *measures;
	uint32_t measure_count;
	const struct bench_case *cases;
	uint32_t case_count;
	struct bench_snapshot snapshots[BENCH_SNAPSHOTS_MAX];
	uint32_t snapshot_count;
	struct bench_recorded recorded[BENCH_RECORDED_MAX];
	uint32_t recorded_count;
	struct bench_sweep sweep;
	struct bench_growth growths[BENCH_GROWTHS_MAX];
	uint32_t growth_count;
	uint32_t sizes[BENCH_SIZES];
	const char *run;        /* "full", "quick", "tiny" */
	char processor[128];
	char compiler[128];
	long processors;
};

/*
 * Nanoseconds that this process has run, on all its threads, so that what else
 * runs on the machine is left out; and what the clock on the wall says.
 */
uint64_t bench_now(void);
uint64_t bench_wall(void);

/* Two figures that should be equal; -FRAG_ECHECK */
int bench_agree(uint64_t a, uint64_t b, const char *what, struct frag_error *err);

/* traces.c: the files; the binary one is made from the lines. */
int bench_write_traces(struct bench_subject *s, bool lines, bool object, struct frag_error *err);
int bench_write_binary(const struct bench_subject *s, struct frag_error *err);

/* tape.c: a workload on a tape, to be fed again and again. */
struct bench_tape;
int bench_tape_new(struct bench_tape **out, const struct bench_spec *spec,
		   struct frag_error *err);
const struct frag_tape *bench_tape_events(const struct bench_tape *tape);
void bench_tape_del(struct bench_tape *tape);
int bench_feed(const struct bench_measure *m, struct bench_subject *s, struct bench_sample *out,
	       struct frag_error *err);
int bench_feed_rows(const struct bench_measure *m, struct bench_subject *s,
		    struct bench_sample *out, struct frag_error *err);

/* reading.c */
int bench_bound(const struct bench_measure *m, struct bench_subject *s, struct bench_sample *out,
		struct frag_error *err);
int bench_read(const struct bench_measure *m, struct bench_subject *s, struct bench_sample *out,
	       struct frag_error *err);
int bench_decode(const struct bench_measure *m, struct bench_subject *s,
		 struct bench_sample *out, struct frag_error *err);
int bench_binary(const struct bench_measure *m, struct bench_subject *s,
		 struct bench_sample *out, struct frag_error *err);
int bench_ids(const struct bench_measure *m, struct bench_subject *s, struct bench_sample *out,
	      struct frag_error *err);

/* whole.c: end to end, in a process of its own. */
int bench_whole_lines(const struct bench_measure *m, struct bench_subject *s,
		      struct bench_sample *out, struct frag_error *err);
int bench_whole_object(const struct bench_measure *m, struct bench_subject *s,
		       struct bench_sample *out, struct frag_error *err);
/* The peak of memory of a process that runs the trace under bestfit. */
int bench_whole_memory(const char *path, uint64_t *memory, struct frag_error *err);
/* What that process does: argv is TRACE THREADS POLICY... Its exit status. */
int bench_whole_child(int argc, char **argv);

/* snapshot.c. made: the file is made for this, and deleted. */
int bench_snapshot(struct bench_snapshot *s, const char *path, bool made, bool quick,
		   struct frag_error *err);
void bench_snapshot_table(const struct bench_snapshot *s, FILE *f);
void bench_snapshot_json(const struct bench_snapshot *s, struct frag_node_ref in);

/* recorded.c. path names a recorded trace */
int bench_recorded(struct bench_recorded *r, const char *path, bool quick,
		   struct frag_error *err);
/* What the process whose memory is measured does. */
int bench_rerun(uint32_t runs, const char *path);
void bench_recorded_table(const struct bench_recorded *r, uint32_t count, FILE *f);
void bench_recorded_json(const struct bench_recorded *r, struct frag_node_ref in);

/* sweep.c */
int bench_sweep(struct bench_sweep *s, const char *const *paths, uint32_t count, bool quick,
		struct frag_error *err);
void bench_sweep_table(const struct bench_sweep *s, FILE *f);
void bench_sweep_json(const struct bench_sweep *s, struct frag_node_ref in);

/* growth.c: fills growths, up to the report's sizes. */
int bench_growth(struct bench_report *r, struct frag_error *err);
void bench_growth_table(const struct bench_report *r, FILE *f);
void bench_growth_json(const struct bench_report *r, struct frag_node_ref in);

/* count.c: what a process does whose instructions are counted. */
int bench_count(char **argv);

/* figures.c: what came out, as a table and as JSON. */
double bench_min(const struct bench_series *series);    /* ns an event */
void bench_table(const struct bench_report *r, FILE *f);
int bench_json(const struct bench_report *r, const char *path, struct frag_error *err);
