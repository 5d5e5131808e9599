/* crash.c - a crash in the code of a plug-in is reported with its name and the step. */
#include "cmd/crash.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "base/escape.h"
#include "cmd/interrupt.h"
#include "policy/watch.h"

/* Where the handler runs when a plug-in has used up the stack. */
#define STACK ((size_t)64 << 10)
#define CHOICE_TEXT sizeof(((struct frag_choice *)0)->text)

#define SIGNALS(X) X(SIGABRT) X(SIGBUS) X(SIGFPE) X(SIGILL) X(SIGSEGV)

static const struct {
	int number;
	const char *name;
} signals[] = {
#define X(number) { number, #number },
	SIGNALS(X)
#undef X
};
#define SIGNAL_COUNT (sizeof(signals) / sizeof(signals[0]))

static struct sigaction before[SIGNAL_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t stack_key;

/* Of this thread. */
static _Thread_local struct {
	const char *name;       /* the plug-in that runs; NULL: none */
	const uint64_t *step;   /* NULL: before the first */
	void *stack;            /* for the handler; NULL: somebody else's, or none */
	bool ready;
} running;

static char *crash_put_text(char *p, const char *text)
{
	size_t length = strnlen(text, CHOICE_TEXT);

	memcpy(p, text, length);
	return p + length;
}

/* Only what a signal handler may do: the line is made by hand. */
static void say(const char *signal)
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
 * The signal gets back what it had before, a sanitizer's report maybe, and comes
 * again: a fault by itself, when its instruction is run again, else by our hand.
 */
static void on_crash(int number, siginfo_t *info, void *context)
{
	size_t i = 0;

	(void)context;
	while (signals[i].number != number)
		i++;
	if (running.name) {
		say(signals[i].name);
		running.name = NULL;
		frag_remove_partial_files();
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
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaction(signals[i].number, &act, &before[i]);
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

void frag_watch_plugins(void)
{
	frag_plugin_set_watch(&watch);
}
