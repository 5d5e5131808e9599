/* progress.c - how far a long command is, and what ends it early: its time, a signal, or a crash. */
#include "cmd/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/format.h"
#include "base/parse.h"
#include "base/platform.h"
#include "fragsim/policy.h"
#include "policy/plugin_watch.h"

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

#define CHOICE_TEXT sizeof(((struct frag_choice *)0)->text)

/* Of this thread. */
static _Thread_local struct {
	const char *name;       /* the plug-in that runs; NULL: none */
	const uint64_t *step;   /* NULL: before the first */
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
		p = frag_put_u64(crash_put_text(p, ": event "), *running.step);
	else
		p = crash_put_text(p, ": before the first event");
	p = crash_put_text(crash_put_text(crash_put_text(p, ": crashed with "), signal), "\n");
	written = write(STDERR_FILENO, line, (size_t)(p - line));
	(void)written;
}

static void on_crash(const char *signal)
{
	if (!running.name)
		return;
	say_crash(signal);
	running.name = NULL;
	remove_partial_files();
}

static void crash_begin(const char *name, const uint64_t *step)
{
	frag_crashes_catch(on_crash);
	running.step = step;
	running.name = name;
}

static void crash_end(void)
{
	running.name = NULL;
}

static const struct frag_plugin_watch watch = { .begin = crash_begin, .end = crash_end };

void frag_catch_signals(void)
{
	frag_signals_catch(on_signal);
	frag_write_signals_ignore();
	frag_plugin_watch = &watch;
}

void frag_release_signals(void)
{
	frag_write_signals_restore();
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
#define TELL_INTERVAL 0.1       /* of the lines for another program */
#define CELLS 30
#define CELLS_MIN 6
#define ECHO_ROOM 2     /* columns that the terminal's own ^C takes */

#define USUAL 80

int frag_terminal_columns(int fd)
{
	const int width = frag_terminal_width(fd);

	return width < 0 ? USUAL : width;
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

#define TELLING "FRAGSIM_PROGRESS_FD"

/* Of the process: where another program, such as the Python module, reads each step; -1: nowhere. */
static int told_fd = -1;

int frag_progress_open(struct frag_error *err)
{
	const char *text = getenv(TELLING);
	uint64_t number;
	int mode;

	if (!text || !*text)
		return 0;
	if (!frag_parse_count(text, strlen(text), &number) || number <= STDERR_FILENO || number > INT_MAX)
		return frag_fail(err, FRAG_EUSAGE, TELLING "=%.60s: the number of a descriptor from 3 on"
				 " is required", text);
	mode = fcntl((int)number, F_GETFL);
	if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY)
		return frag_fail(err, FRAG_EUSAGE, TELLING "=%.60s: %s", text,
				 mode < 0 ? strerror(errno) : "it cannot be written to");
	told_fd = (int)number;
	/* a program that this one starts has nothing to tell there */
	fcntl(told_fd, F_SETFD, FD_CLOEXEC);
	unsetenv(TELLING);
	return 0;
}

/* A line that a full pipe refuses is omitted: the program never waits for its reader. */
static void progress_tell(struct frag_progress *p, uint64_t done, uint64_t total, const char *what)
{
	const bool tells = told_fd >= 0 && p->begun > 0;
	const double t = tells ? seconds_now() : 0;
	char line[96];
	ssize_t written;

	if (!tells || done == p->told || (done != total && p->told && t - p->told_at < TELL_INTERVAL))
		return;
	p->told = done;
	p->told_at = t;
	snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 " %.40s\n", done, total, what);
	written = write(told_fd, line, strlen(line));
	if (written < 0 && errno != EAGAIN && errno != EINTR)
		told_fd = -1;
}

void frag_progress_begin(struct frag_progress *p, bool wanted)
{
	*p = (struct frag_progress){ .wanted = wanted && isatty(STDERR_FILENO) };
	p->begun = p->last = p->part = seconds_now();
}

void frag_progress_part(struct frag_progress *p)
{
	p->part = p->wanted ? seconds_now() : 0;
	p->told = 0;
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

	if (info->total_bytes)
		progress_tell(p, info->bytes, info->total_bytes, "bytes");
	else
		progress_tell(p, info->events, info->whole ? info->events : 0, "events");
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

	progress_tell(p, done, count, what);
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
