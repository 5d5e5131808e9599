/* main.c - finds the command, runs it, and turns what comes back into an exit status. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "fragsim/version.h"

static const struct frag_cmd *const commands[] = {
	&frag_cmd_gen,
	&frag_cmd_policies,
	&frag_cmd_run,
	NULL,
};

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	/* what is being written beside its destination stays; the destination is whole */
	if (signals++)
		_exit(128 + number);
}

bool frag_interrupted(void *ctx)
{
	(void)ctx;
	return signals != 0;
}

static void catch_signals(void)
{
	struct sigaction act = { .sa_handler = on_signal };

	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	act.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &act, NULL);
}

static void print_usage(FILE *f)
{
	fputs("usage: fragsim COMMAND [options] ...\n"
	      "Replays GPU allocation traces under memory allocators and measures fragmentation.\n\n",
	      f);
	for (uint32_t i = 0; commands[i]; i++)
		fprintf(f, "  %-10s  %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nfragsim COMMAND -h lists a command's options; fragsim --version says which this is.\n"
	      "Manual: fragsim(1), and fragsim-COMMAND(1) for each command.\n", f);
}

static const struct frag_cmd *find(const char *name)
{
	for (uint32_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int dispatch(int argc, char **argv, int *status, struct frag_error *err)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct frag_cmd *cmd;
	static char help_flag[] = "-h";
	char *help_argv[] = { argv[0], help_flag, NULL };

	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		puts("fragsim " FRAG_VERSION);
		return 0;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0
	    || (strcmp(name, "help") == 0 && argc == 2)) {
		print_usage(stdout);
		return 0;
	}
	cmd = find(strcmp(name, "help") == 0 ? argv[2] : name);
	if (!cmd && argc < 2)
		return frag_fail(err, FRAG_EUSAGE, "which command? fragsim --help lists them");
	if (!cmd)
		return frag_fail(err, FRAG_EUSAGE, "no command \"%.60s\"; fragsim --help lists them",
				 strcmp(name, "help") == 0 ? argv[2] : name);
	if (strcmp(name, "help") == 0)
		return cmd->exec(cmd, 2, help_argv, status, err);
	return cmd->exec(cmd, argc - 1, argv + 1, status, err);
}

int main(int argc, char **argv)
{
	struct frag_error err = { .code = 0 };
	int status = 0;
	int rc;

	catch_signals();
	rc = dispatch(argc, argv, &status, &err);
	if ((fflush(stdout) != 0 || ferror(stdout)) && !rc)
		rc = errno == EPIPE ? -FRAG_EPIPE
		     : frag_fail(&err, FRAG_EOUTPUT, "standard output: %s", strerror(errno));
	if (rc && rc != -FRAG_EPIPE && rc != -FRAG_EINTERRUPTED)
		fprintf(stderr, "fragsim: %s\n", err.message);
	return rc ? frag_error_status(rc) : status;
}
