/* sweep_script.h - scripts that give the shards of a sweep to who distributes work. */
#ifndef ANSWERS_SWEEP_SCRIPT_H
#define ANSWERS_SWEEP_SCRIPT_H

#include <stdint.h>
#include <stdio.h>

struct frag_sweep_script {
	const char *program;    /* the path of fragsim */
	const char *work;       /* the folder that the names of files start from */
	const char *folder;     /* the sweep's */
	uint32_t runs, tasks;
};

/* "slurm", "parallel", ended by NULL, */
extern const char *const frag_sweep_script_names[];
/* and the one of that index. */
void frag_sweep_script_write(uint32_t kind, const struct frag_sweep_script *script, FILE *f);

#endif
