/* main.c - finds the command, runs it, and turns what comes back into an exit status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/near.h"
#include "base/outfile.h"
#include "base/packer.h"
#include "cmd/command.h"
#include "device/cuda.h"
#include "fragsim/plugin.h"
#include "fragsim/version.h"

#define GUARDED_MOST 16

const struct frag_cmd *const frag_commands[] = {
	&frag_cmd_anonymize,
	&frag_cmd_complete,
	&frag_cmd_convert,
	&frag_cmd_diff,
	&frag_cmd_gen,
	&frag_cmd_help,
	&frag_cmd_info,
	&frag_cmd_merge,
	&frag_cmd_policies,
	&frag_cmd_replay,
	&frag_cmd_run,
	&frag_cmd_shrink,
	&frag_cmd_slice,
	&frag_cmd_verify,
	NULL,
};

static volatile sig_atomic_t signals;

static const struct frag_outfile *volatile guarded[GUARDED_MOST];
static volatile sig_atomic_t guarded_count;

void frag_guard_file(const struct frag_outfile *f)
{
	if (!f)
		guarded_count = 0;
	else if (guarded_count < GUARDED_MOST)
		guarded[guarded_count++] = f;
}

static void on_signal(int number)
{
	if (!signals++)
		return;
	for (int i = 0; i < guarded_count; i++)
		if (guarded[i]->temporary)
			unlink(guarded[i]->temporary);
	_exit(128 + number);
}

bool frag_interrupted(void *ctx)
{
	(void)ctx;
	return signals != 0;
}

static void catch_signals(void)
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGTERM };
	struct sigaction act = { .sa_handler = on_signal }, old;

	sigemptyset(&act.sa_mask);
	/* what the caller ignores (nohup; a shell for work in the background) stays ignored */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &act, NULL);
	act.sa_handler = SIG_IGN;
	/* both show as errors of the write */
	sigaction(SIGPIPE, &act, NULL);
	sigaction(SIGXFSZ, &act, NULL);
}

/*
 * A closed standard stream would give its number to the next file that is
 * opened, and the report would go there. Its place is held by something that
 * fails as a closed stream does.
 */
static void hold_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int frag_flush_stdout(struct frag_error *err)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	if (errno == EPIPE)
		return frag_fail(err, FRAG_EPIPE, "standard output: its reader has gone");
	return frag_fail(err, FRAG_EOUTPUT, "standard output: %s", strerror(errno));
}

static void print_version(void)
{
	int driver, cuda = 0;

	puts("fragsim " FRAG_VERSION);
	if (frag_cuda.versions && frag_cuda.versions(&driver, &cuda) == 0)
		printf("CUDA %d.%d\n", cuda / 1000, cuda % 1000 / 10);
	else
		puts(frag_cuda.versions ? "CUDA of an unknown version" : "no CUDA");
	printf("cJSON %s\nzlib %s\nzstd %s\nplug-ins of version %d\n", frag_json_library(),
	       frag_packing_library(FRAG_GZIP), frag_packing_library(FRAG_ZSTD),
	       FRAG_PLUGIN_VERSION);
}

void frag_print_commands(void)
{
	fputs("usage: fragsim COMMAND [options] ...\n"
	      "Replays GPU allocation traces under memory allocators and measures fragmentation.\n\n",
	      stdout);
	for (uint32_t i = 0; frag_commands[i]; i++)
		printf("  %-10s  %s\n", frag_commands[i]->name, frag_commands[i]->summary);
	fputs("\nfragsim COMMAND -h lists a command's options, fragsim help COMMAND opens its manual;\n"
	      "fragsim --version says which this is. To begin with: fragsim-tutorial(7).\n", stdout);
}

const struct frag_cmd *frag_command_find(const char *name, struct frag_error *err)
{
	struct frag_near near = frag_near_to(name, strlen(name));
	char hint[FRAG_HINT_ROOM];

	for (uint32_t i = 0; frag_commands[i]; i++) {
		if (strcmp(frag_commands[i]->name, name) == 0)
			return frag_commands[i];
		frag_near_offer(&near, frag_commands[i]->name);
	}
	frag_fail(err, FRAG_EUSAGE, "no command \"%.60s\";%s fragsim --help lists them", name,
		  frag_near_hint(&near, "", hint));
	return NULL;
}

static int dispatch(int argc, char **argv, int *status, struct frag_error *err)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct frag_cmd *cmd;

	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		print_version();
		return 0;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		frag_print_commands();
		return 0;
	}
	if (argc < 2)
		return frag_fail(err, FRAG_EUSAGE, "which command? fragsim --help lists them");
	cmd = frag_command_find(name, err);
	return cmd ? cmd->exec(cmd, argc - 1, argv + 1, status, err) : err->code;
}

int main(int argc, char **argv)
{
	struct frag_error err = { .code = 0 };
	int status = 0;
	int rc;

	hold_standard_streams();
	catch_signals();
	rc = dispatch(argc, argv, &status, &err);
	rc = rc ? rc : frag_flush_stdout(&err);
	if (rc && rc != -FRAG_EPIPE && rc != -FRAG_EINTERRUPTED)
		fprintf(stderr, "fragsim: %s\n", err.message);
	return rc ? frag_error_status(rc) : status;
}
