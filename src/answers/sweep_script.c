/* sweep_script.c - scripts that give the shards of a sweep to who distributes work. */
#include "answers/answers.h"

#include <inttypes.h>

#include "base/format.h"

#define AT_ONCE 16      /* tasks of an array */

/* One word of a shell, whatever is in it. */
static void sweep_script_put_word(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", f);
		else
			fputc(*text, f);
	}
	fputc('\'', f);
}

static void put_variable(FILE *f, const char *name, const char *value)
{
	fprintf(f, "%s=", name);
	sweep_script_put_word(f, value);
	fputc('\n', f);
}

/* What both begin with: relative names are those of the folder where the script was made. */
static void put_settings(FILE *f, const struct frag_sweep_script *s)
{
	put_variable(f, "fragsim", s->program);
	put_variable(f, "work", s->work);
	put_variable(f, "folder", s->folder);
	fprintf(f, "tasks=%" PRIu32 "\n\ncd \"$work\"\n", s->tasks);
}

/*
 * The job's shell becomes fragsim, so that it is fragsim which the signal reaches. Words of the
 * job that only its task knows are quoted; the others are put in now.
 */
static void put_slurm(FILE *f, const struct frag_sweep_script *s)
{
	fprintf(f,
		"#!/bin/sh\n"
		"# %" PRIu32 " run%s in %" PRIu32
		" task%s of a Slurm array, and what puts them together.\n"
		"#   sh SCRIPT                  submits all of it\n"
		"#   sh SCRIPT --array=3,5-7    submits these tasks again; which are missing says\n"
		"#                              fragsim sweep --merge DIR --tasks %" PRIu32 "\n"
		"# What else sbatch is to know (a partition, an account, a time limit) it takes "
		"from\n"
		"# SBATCH_PARTITION, SBATCH_ACCOUNT and SBATCH_TIMELIMIT. All nodes see the same "
		"files.\n"
		"set -eu\n\n",
		s->runs, frag_s(s->runs), s->tasks, frag_s(s->tasks), s->tasks);
	put_settings(f, s);
	fprintf(f, "array=${1:---array=0-%" PRIu32 "}\n", s->tasks - 1);
	fprintf(f,
		"case $array in *%%*) ;; *) array=$array%%%d ;; esac       # this many concurrently\n",
		AT_ONCE);
	fputs("export fragsim folder tasks\n"
	      "job=$(sbatch --parsable \"$array\" --job-name=fragsim-sweep --cpus-per-task=1 \\\n"
	      "\t--signal=B:TERM@60 --open-mode=append --output=\"$folder/slurm-%A_%a.out\" \\\n"
	      "\t--export=ALL --wrap 'exec \"$fragsim\" sweep --resume --shard auto/\"$tasks\" \\\n"
	      "\t\t--threads \"${SLURM_CPUS_PER_TASK:-1}\" -o \"$folder\"')\n"
	      "job=${job%%;*}\n"
	      "merge=$(sbatch --parsable --job-name=fragsim-merge --dependency=afterany:\"$job\" "
	      "\\\n"
	      "\t--open-mode=append --output=\"$folder/slurm-merge.out\" --export=ALL \\\n"
	      "\t--wrap 'exec \"$fragsim\" sweep --merge \"$folder\" --tasks \"$tasks\"')\n"
	      "echo \"submitted: array $job, merge ${merge%%;*}; its words are in"
	      " $folder/slurm-merge.out\"\n",
	      f);
}

/* A script for GNU parallel: a job for each shard, and the merge at the end. */
static void put_parallel(FILE *f, const struct frag_sweep_script *s)
{
	fprintf(f,
		"#!/bin/sh\n"
		"# %" PRIu32 " run%s in %" PRIu32
		" task%s of GNU parallel, and what puts them together.\n"
		"#   sh SCRIPT                  here, on all processors, tasks in sequence\n"
		"#   sh SCRIPT node1,node2,:    on these machines (: is this one), which see the "
		"same\n"
		"#                              files\n"
		"# Again: what failed or is missing is done, and nothing twice.\n"
		"set -eu\n\n",
		s->runs, frag_s(s->runs), s->tasks, frag_s(s->tasks));
	put_settings(f, s);
	fprintf(f,
		"export fragsim folder tasks\n"
		"failed=0\n"
		"seq 0 %" PRIu32
		" | parallel --joblog \"$folder/parallel.log\" --resume-failed \\\n"
		"\t--sshlogin \"${1:-:}\" --workdir \"$work\" --env fragsim --env folder --env "
		"tasks \\\n"
		"\t--jobs 1 --termseq TERM,60000,KILL,100 \\\n"
		"\t'exec \"$fragsim\" sweep --resume --shard {}/\"$tasks\" -o \"$folder\"' || "
		"failed=$?\n"
		"\"$fragsim\" sweep --merge \"$folder\" --tasks \"$tasks\"\n"
		"exit \"$failed\"\n",
		s->tasks - 1);
}

/* A string of YAML; in a command Kubernetes makes one $ of two. */
static void put_yaml(FILE *f, const char *text, bool in_command)
{
	putc('"', f);
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			fprintf(f, "\\x%02x", (unsigned)(unsigned char)*text);
		else if (*text == '"' || *text == '\\')
			fprintf(f, "\\%c", *text);
		else
			fprintf(f, in_command && *text == '$' ? "$$" : "%c", *text);
	}
	putc('"', f);
}

/* The manifest of an Indexed Job: a pod each task, and the files on a volume that all of them see. */
static void put_kubernetes(FILE *f, const struct frag_sweep_script *s)
{
	fprintf(f,
		"# %" PRIu32 " run%s in %" PRIu32 " task%s of an Indexed Job of Kubernetes.\n"
		"#   Set image, which has fragsim, and claimName, a volume that has the files of\n"
		"#   mountPath: the traces and the folder of the sweep.\n"
		"#   kubectl apply -f FILE, and when the job is complete, where the files are:\n"
		"#   fragsim sweep --merge DIR\n"
		"# The job again: what failed or is missing is done, and nothing twice.\n"
		"apiVersion: batch/v1\n"
		"kind: Job\n"
		"metadata:\n"
		"  name: fragsim-sweep\n"
		"spec:\n"
		"  completionMode: Indexed\n"
		"  completions: %" PRIu32 "\n"
		"  parallelism: %" PRIu32 "\n"
		"  backoffLimit: %" PRIu32 "\n"
		"  template:\n"
		"    spec:\n"
		"      restartPolicy: Never\n"
		"      terminationGracePeriodSeconds: 60\n"
		"      containers:\n"
		"        - name: fragsim\n"
		"          image: fragsim\n"
		"          workingDir: ",
		s->runs, frag_s(s->runs), s->tasks, frag_s(s->tasks), s->tasks,
		s->tasks < AT_ONCE ? s->tasks : AT_ONCE, s->tasks);
	put_yaml(f, s->work, false);
	fprintf(f,
		"\n"
		"          command: [\"fragsim\", \"sweep\", \"--resume\", \"--shard\", \"auto/%" PRIu32
		"\",\n"
		"                    \"--threads\", \"1\", \"-o\", ",
		s->tasks);
	put_yaml(f, s->folder, true);
	fputs("]\n"
	      "          resources: {requests: {cpu: 1}}\n"
	      "          volumeMounts:\n"
	      "            - name: files\n"
	      "              mountPath: ", f);
	put_yaml(f, s->work, false);
	fputs("\n"
	      "      volumes:\n"
	      "        - name: files\n"
	      "          persistentVolumeClaim: {claimName: fragsim}\n", f);
}

const char *const frag_sweep_script_names[] = { "slurm", "parallel", "kubernetes", NULL };

void frag_sweep_script_write(uint32_t kind, const struct frag_sweep_script *s, FILE *f)
{
	static void (*const put[])(FILE *, const struct frag_sweep_script *) = {
		put_slurm, put_parallel, put_kubernetes,
	};

	put[kind](f, s);
}
