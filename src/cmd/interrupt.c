/* interrupt.c - signals: the work ends in good order, and no file stays half written. */
#include "cmd/interrupt.h"

#include <signal.h>
#include <unistd.h>

#define GUARDED_MAX 16

static volatile sig_atomic_t signals;

static const struct frag_outfile *volatile guarded[GUARDED_MAX];
static volatile sig_atomic_t guarded_count;

void frag_register_partial_file(const struct frag_outfile *f)
{
	if (!f)
		guarded_count = 0;
	else if (guarded_count < GUARDED_MAX)
		guarded[guarded_count++] = f;
}

void frag_remove_partial_files(void)
{
	for (int i = 0; i < guarded_count; i++)
		frag_outfile_drop(guarded[i]);
}

/* The second signal ends the program at once, and so does SIGQUIT, with its core file. */
static void on_signal(int number)
{
	if (number == SIGQUIT) {
		frag_remove_partial_files();
		signal(SIGQUIT, SIG_DFL);
		raise(SIGQUIT);
		return;
	}
	if (!signals++)
		return;
	frag_remove_partial_files();
	_exit(128 + number);
}

bool frag_interrupted(void *ctx)
{
	(void)ctx;
	return signals != 0;
}

int frag_or_interrupted(int rc, struct frag_error *err)
{
	return rc && signals ? frag_fail(err, FRAG_EINTERRUPTED, "interrupted") : rc;
}

void frag_catch_signals(void)
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT };
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

static int interrupt_write(const char *path, bool only_new,
			   int (*write)(void *ctx, struct frag_outfile *out, struct frag_error *err),
			   void *ctx, struct frag_error *err)
{
	struct frag_outfile out = { .fd = -1 };
	int rc;

	frag_register_partial_file(&out);
	rc = frag_outfile_open(&out, path, err);
	out.only_new = only_new;
	rc = rc ? rc : write(ctx, &out, err);
	rc = rc ? rc : frag_outfile_commit(&out, err);
	frag_outfile_abandon(&out);
	frag_register_partial_file(NULL);
	return rc;
}

int frag_write_file(const char *path,
		    int (*write)(void *ctx, struct frag_outfile *out, struct frag_error *err),
		    void *ctx, struct frag_error *err)
{
	return interrupt_write(path, false, write, ctx, err);
}

int frag_write_new_file(const char *path,
			int (*write)(void *ctx, struct frag_outfile *out, struct frag_error *err),
			void *ctx, struct frag_error *err)
{
	return interrupt_write(path, true, write, ctx, err);
}
