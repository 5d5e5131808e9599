/* progress.c - how far a long command is, and what ends it early: its time, a signal, or a crash. */
#include "cmd/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/format.h"
#include "fragsim/policy.h"
#include "policy/policies.h"

/* Signals, and files that may not stay half written --------------------------- */

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

/* Removes what there is of these so far; a signal handler may do so. */
static void remove_partial_files(void)
{
	for (int i = 0; i < guarded_count; i++)
		frag_outfile_drop(guarded[i]);
}

/* The second signal ends the program at once, and so does SIGQUIT, with its core file. */
static void on_signal(int number)
{
	if (number == SIGQUIT) {
		remove_partial_files();
		signal(SIGQUIT, SIG_DFL);
		raise(SIGQUIT);
		return;
	}
	if (!signals++)
		return;
	remove_partial_files();
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

/* Crashes of plug-ins: which one it was ----------------------------------------- */

/* Where the handler runs when a plug-in has used up the stack. */
#define STACK ((size_t)64 << 10)
#define CHOICE_TEXT sizeof(((struct frag_choice *)0)->text)

static const struct {
	int number;
	const char *name;
} crashes[] = {
	{ SIGABRT, "SIGABRT" }, { SIGBUS, "SIGBUS" }, { SIGFPE, "SIGFPE" }, { SIGILL, "SIGILL" },
	{ SIGSEGV, "SIGSEGV" },
};
#define CRASH_COUNT (sizeof(crashes) / sizeof(crashes[0]))

static struct sigaction before[CRASH_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t stack_key;

/* Of this thread. */
static _Thread_local struct {
	const char *name;       /* the plug-in that runs; NULL: none */
	const uint64_t *step;   /* NULL: before the first */
	void *stack;            /* for the handler; NULL: none, or owned by a sanitizer */
	bool ready;
} running;

static char *crash_put_text(char *p, const char *text)
{
	size_t length = strnlen(text, CHOICE_TEXT);

	memcpy(p, text, length);
	return p + length;
}

/* Only what a signal handler may do: the line is made by hand. */
static void say_crash(const char *signal)
{
	char line[6 * CHOICE_TEXT + 128];
	char *p = crash_put_text(line, "fragsim: plug-in ");
	ssize_t written;

	p = frag_put_printable(p, running.name, strnlen(running.name, CHOICE_TEXT));
	if (running.step)
		p = frag_put_u64(crash_put_text(p, ": step "), *running.step);
	else
		p = crash_put_text(p, ": before the first step");
	p = crash_put_text(crash_put_text(crash_put_text(p, ": crashed with "), signal), "\n");
	written = write(STDERR_FILENO, line, (size_t)(p - line));
	(void)written;
}

/*
 * Restores the previous handler, for example a sanitizer's, and repeats the signal: a fault
 * repeats when its instruction runs again; the handler raises any other signal.
 */
static void on_crash(int number, siginfo_t *info, void *context)
{
	size_t i = 0;

	(void)context;
	while (crashes[i].number != number)
		i++;
	if (running.name) {
		say_crash(crashes[i].name);
		running.name = NULL;
		remove_partial_files();
	}
	sigaction(number, &before[i], NULL);
	if (info->si_code <= 0)
		raise(number);
}

static void free_stack(void *stack)
{
	const stack_t none = { .ss_flags = SS_DISABLE };

	sigaltstack(&none, NULL);
	free(stack);
}

static void catch_crashes(void)
{
	struct sigaction act = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	pthread_key_create(&stack_key, free_stack);
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < CRASH_COUNT; i++)
		sigaction(crashes[i].number, &act, &before[i]);
}

/* Once a thread; a sanitizer has given it such a stack already. */
static void give_stack(void)
{
	stack_t stack;

	if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_DISABLE))
		return;
	running.stack = malloc(STACK);
	if (!running.stack)
		return;
	stack = (stack_t){ .ss_sp = running.stack, .ss_size = STACK };
	sigaltstack(&stack, NULL);
	pthread_setspecific(stack_key, running.stack);
}

static void crash_begin(const char *name, const uint64_t *step)
{
	pthread_once(&once, catch_crashes);
	if (!running.ready)
		give_stack();
	running.ready = true;
	running.step = step;
	running.name = name;
}

static void crash_end(void)
{
	running.name = NULL;
}

static const struct frag_plugin_watch watch = { .begin = crash_begin, .end = crash_end };

static struct sigaction write_errors[2];        /* of SIGPIPE and SIGXFSZ, as inherited */

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
	sigaction(SIGPIPE, &act, &write_errors[0]);
	sigaction(SIGXFSZ, &act, &write_errors[1]);
	frag_plugin_watch = &watch;
}

void frag_release_signals(void)
{
	sigaction(SIGPIPE, &write_errors[0], NULL);
	sigaction(SIGXFSZ, &write_errors[1], NULL);
}

int frag_open_guarded(struct frag_outfile *f, const char *path, struct frag_error *err)
{
	if (!path)
		return 0;
	frag_register_partial_file(f);
	return frag_outfile_open(f, path, err);
}

int frag_write_file(const char *path, bool only_new,
		    int (*write)(void *ctx, struct frag_outfile *out, struct frag_error *err),
		    void *ctx, struct frag_error *err)
{
	struct frag_outfile out = { .fd = -1 };
	int rc = frag_open_guarded(&out, path, err);

	out.only_new = only_new;
	rc = rc ? rc : write(ctx, &out, err);
	rc = rc ? rc : frag_outfile_commit(&out, err);
	frag_outfile_abandon(&out);
	frag_register_partial_file(NULL);
	return rc;
}

/* Progress -------------------------------------------------------------------- */

#define PATIENCE 1.0    /* seconds before it is shown */
#define INTERVAL 0.2
#define CELLS 30
#define CELLS_MIN 6
#define ECHO_ROOM 2     /* columns that the terminal's own ^C takes */

#define USUAL 80

int frag_terminal_columns(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL;
}

/* Of the process, as the environment is that it goes before. */
int frag_color = FRAG_COLOR_AUTO;

bool frag_terminal_colour(int columns)
{
	const char *never = getenv("NO_COLOR"), *always = getenv("CLICOLOR_FORCE");
	const char *terminal = getenv("TERM");

	if (frag_color != FRAG_COLOR_AUTO)
		return frag_color == FRAG_COLOR_ALWAYS;
	if (never && *never)
		return false;
	if (always && *always && strcmp(always, "0") != 0)
		return true;
	return columns && !(terminal && strcmp(terminal, "dumb") == 0);
}

/* Of a clock that is never set back. */
static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void frag_progress_begin(struct frag_progress *p, bool wanted)
{
	*p = (struct frag_progress){ .wanted = wanted && isatty(STDERR_FILENO) };
	p->begun = p->last = p->part = seconds_now();
}

void frag_progress_part(struct frag_progress *p)
{
	p->part = p->wanted ? seconds_now() : 0;
}

/* 42 s, 6 min 9 s, 2 h 5 min */
static void put_duration(char *buf, size_t size, double seconds)
{
	uint64_t s = (uint64_t)(seconds + 0.5);

	if (s < 60)
		snprintf(buf, size, "%" PRIu64 " s", s);
	else if (s < 3600)
		snprintf(buf, size, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		snprintf(buf, size, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
}

static void put_rate(char *buf, size_t size, double rate)
{
	if (rate < 1e4)
		frag_snprintf(buf, size, "%.0f/s", rate);
	else if (rate < 1e6)
		frag_snprintf(buf, size, "%.0f k/s", rate / 1e3);
	else
		frag_snprintf(buf, size, "%.2f M/s", rate / 1e6);
}

/* The words; *part is what is done of the whole, or negative where that is unknown. */
static void progress_put_words(char *buf, size_t size, const struct frag_trace_info *info,
			       double elapsed, double *part)
{
	char rate[32], rest[48];

	*part = info->total_bytes ? (double)info->bytes / (double)info->total_bytes : -1;
	put_rate(rate, sizeof(rate), (double)info->events / elapsed);
	if (*part > 0) {
		put_duration(rest, sizeof(rest), elapsed / *part - elapsed);
		frag_snprintf(buf, size, "%3.0f%%, %s to go, %" PRIu64 " event%s, %s", *part * 100,
			      rest, info->events, frag_s(info->events), rate);
	} else {
		snprintf(buf, size, "%" PRIu64 " event%s, %s", info->events,
			 frag_s(info->events), rate);
	}
}

static void put_bar(char *buf, int cells, double part)
{
	int filled = (int)(part * cells);

	*buf++ = '[';
	memset(buf, '.', (size_t)cells);
	memset(buf, '#', (size_t)(filled < cells ? filled : cells));
	memcpy(buf + cells, "] ", sizeof("] "));
}

static bool is_due(struct frag_progress *p, double *elapsed)
{
	const double t = p->wanted ? seconds_now() : 0;

	if (!p->wanted || t - p->begun < PATIENCE || t - p->last < INTERVAL)
		return false;
	p->last = t;
	*elapsed = t - p->part;
	return true;
}

static void progress_show(struct frag_progress *p, char *words, double part)
{
	char bar[CELLS + 4] = "";
	int room, cells, width;

	/* a line that reached the last column, with a ^C echoed after it, would wrap */
	room = frag_terminal_columns(STDERR_FILENO) - 1 - ECHO_ROOM;
	cells = room - (int)strlen(words) - (int)strlen("[] ");
	if (part >= 0 && cells >= CELLS_MIN)
		put_bar(bar, cells < CELLS ? cells : CELLS, part);
	while ((int)strlen(words) > room && strrchr(words, ','))
		*strrchr(words, ',') = '\0';
	if ((int)strlen(words) > room)
		return;
	width = (int)(strlen(bar) + strlen(words));
	fprintf(stderr, "\r%s%s%*s", bar, words, p->shown > width ? p->shown - width : 0, "");
	fflush(stderr);
	p->shown = width;
}

void frag_progress_show(struct frag_progress *p, const struct frag_trace_info *info)
{
	char words[160];
	double elapsed, part;

	if (!is_due(p, &elapsed))
		return;
	progress_put_words(words, sizeof(words), info, elapsed, &part);
	progress_show(p, words, part);
}

void frag_progress_count(struct frag_progress *p, const char *what, uint32_t done,
			 uint32_t count)
{
	char words[120], rest[48];
	double elapsed;

	if (!is_due(p, &elapsed))
		return;
	put_duration(rest, sizeof(rest), done ? elapsed * (count - done) / done : 0);
	snprintf(words, sizeof(words), "%" PRIu32 " of %" PRIu32 " %s%s%s%s", done, count, what,
		 done ? ", " : "", done ? rest : "", done ? " to go" : "");
	progress_show(p, words, (double)done / count);
}

void frag_progress_end(struct frag_progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r%*s\r", p->shown + ECHO_ROOM, "");
	p->shown = 0;
}

/* Of the search that runs, by seconds_now(); 0: none has begun. */
static double begun, until;

void frag_time_begin(double seconds)
{
	begun = seconds_now();
	until = begun + seconds;
}

bool frag_time_is_up(void *ctx)
{
	return frag_interrupted(ctx) || (begun > 0 && seconds_now() >= until);
}

bool frag_time_is_short(void *ctx)
{
	(void)ctx;
	return begun > 0 && seconds_now() >= begun + (until - begun) / 2;
}

bool frag_time_ended(int rc)
{
	return rc == -FRAG_EINTERRUPTED && !frag_interrupted(NULL);
}
