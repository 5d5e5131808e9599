/*
 * replay.c - runs a fuzzer over files, without libFuzzer and with any compiler.
 *
 * fuzz_NAME [FILE|FOLDER]...   default: tests/fuzz/corpus/NAME
 *
 * Prints TAP: one test a file, after the empty input. An input that crashes the
 * fuzzer or takes over a minute ends the program, with its name as last words.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CORPUS "tests/fuzz/corpus/"
#define SECONDS_PER_INPUT 60

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned tests, failures;
static const char *current;

static void ok(const char *path, int good)
{
	tests++;
	failures += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", tests, path);
}

static void broken(const char *path)
{
	printf("# %s: %s\n", path, strerror(errno));
	ok(path, 0);
}

static void run(const char *path, const uint8_t *data, size_t size)
{
	current = path;
	alarm(SECONDS_PER_INPUT);
	LLVMFuzzerTestOneInput(data, size);
	alarm(0);
	ok(path, 1);
}

/* Runs in a signal handler, hence write; the signal then does its work. */
static void last_words(int signal_number)
{
	static const char before[] = "# stopped in ";

	if (write(STDERR_FILENO, before, sizeof(before) - 1) < 0
	    || write(STDERR_FILENO, current, strlen(current)) < 0
	    || write(STDERR_FILENO, "\n", 1) < 0)
		_exit(1);
	raise(signal_number);
}

static void watch_signals(void)
{
	static const int fatal[] = { SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV };
	struct sigaction ours, old;

	memset(&ours, 0, sizeof(ours));
	ours.sa_handler = last_words;
	ours.sa_flags = (int)SA_RESETHAND;
	/* What a sanitizer has taken stays its own: it ends in SIGABRT. */
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		if (!sigaction(fatal[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(fatal[i], &ours, NULL);
}

static void replay_file(const char *path, size_t size)
{
	/* Exactly as long as the file, so that a sanitizer sees a read past it. */
	uint8_t *data = malloc(size ? size : 1);
	FILE *f = fopen(path, "rb");

	if (data && f && fread(data, 1, size, f) == size)
		run(path, data, size);
	else
		broken(path);
	if (f)
		fclose(f);
	free(data);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void replay(const char *path);

static void replay_folder(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, visible, alphasort);
	char name[4096];

	if (count < 0) {
		broken(path);
		return;
	}
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		replay(name);
		free(entries[i]);
	}
	free(entries);
}

static void replay(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		broken(path);
	else if (S_ISDIR(st.st_mode))
		replay_folder(path);
	else
		replay_file(path, (size_t)st.st_size);
}

static void replay_own_corpus(const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;
	char path[4096];

	if (!strncmp(name, "fuzz_", 5))
		name += 5;
	snprintf(path, sizeof(path), CORPUS "%s", name);
	if (access(path, F_OK))
		printf("# no corpus %s\n", path);
	else
		replay(path);
}

int main(int argc, char **argv)
{
	watch_signals();
	run("empty input", (const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	if (argc < 2)
		replay_own_corpus(argv[0]);
	printf("1..%u\n", tests);
	return failures != 0;
}
