/* main.c - finds the command, runs it, and turns its result into an exit status. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/platform.h"
#include "cmd/command.h"
#include "cmd/progress.h"
#include "device/cuda.h"
#include "fragsim/plugin.h"
#include "trace/reader.h"
#include "fragsim/version.h"

const struct frag_cmd *const frag_commands[] = {
#define X(name) &frag_cmd_##name,
	FRAG_COMMANDS(X) NULL,
#undef X
};

const char *const frag_group_names[FRAG_GROUPS] = {
	[FRAG_GROUP_FAILURE] = "I ran out of GPU memory",
	[FRAG_GROUP_SIZE] = "Which GPU, which settings, which batch size?",
	[FRAG_GROUP_HOLDERS] = "Where does the memory go?",
	[FRAG_GROUP_CI] = "Keep it fixed (CI)",
	[FRAG_GROUP_OTHER] = "Also",
};

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
		return frag_fail(err, FRAG_EPIPE, "standard output: its reader closed it");
	return frag_fail(err, FRAG_EOUTPUT, "standard output: %s", strerror(errno));
}

/* One line, but of a terminal as many as it takes, as it would cut words. */
static void print_line(const char *head, const char *line)
{
	const int columns = frag_terminal_columns(STDERR_FILENO);
	const size_t room = columns > 30 ? (size_t)columns - strlen(head) : SIZE_MAX;

	do {
		const size_t n = frag_wrap(line, room);

		fprintf(stderr, "%s%.*s\n", head, (int)n, line);
		line += n;
		line += strspn(line, " ");
		head = "         ";
	} while (*line);
}

void frag_print_message(const char *format, ...)
{
	char line[2048];
	va_list args;

	va_start(args, format);
	frag_vformat_printable(line, sizeof(line), format, args);
	va_end(args);
	print_line("fragsim: ", line);
}

void frag_warn(void *quiet, const char *message)
{
	const bool *silent = quiet;

	if (!*silent)
		frag_print_message("warning: %s", message);
}

/* Looks in the environment, next to the program, and where `make install` puts the file. */
int frag_find_support_file(const struct frag_support_file *what, char path[PATH_MAX],
			   struct frag_error *err)
{
	const char *const places[] = { "", what->installed };
	const char *given = getenv(what->variable);
	char here[PATH_MAX], beside[PATH_MAX + 128];

	if (given && *given && !realpath(given, path))
		return frag_fail(err, FRAG_EUSAGE, "%s: %s: %s", what->variable, given,
				 strerror(errno));
	if (given && *given)
		return 0;
	if (!frag_executable_path(here))
		return frag_fail(err, FRAG_EUSAGE, "%s: not found, as /proc does not name this program;"
				 " %s may name the file", what->file, what->variable);
	strrchr(here, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(beside, sizeof(beside), "%s%s%s", here, places[i], what->file);
		if (realpath(beside, path))
			return 0;
	}
	return frag_fail(err, FRAG_EUSAGE, "%s is neither in %s nor in %s%.*s; %s may name it",
			 what->file, here, here, (int)strlen(what->installed) - 1, what->installed,
			 what->variable);
}

static void print_version(void)
{
	int driver, cuda = 0;

	puts("fragsim " FRAG_VERSION);
	if (frag_cuda.versions && frag_cuda.versions(&driver, &cuda) == 0)
		printf("CUDA %d.%d\n", cuda / 1000, cuda % 1000 / 10);
	else
		puts(frag_cuda.versions ? "CUDA of an unknown version" : "no CUDA");
	printf("cJSON %s\n%s%s\nzlib %s\nzstd %s\nplug-ins of version %d\n", frag_json_library(),
	       frag_nsys_library() ? "SQLite " : "no SQLite", frag_nsys_library() ? frag_nsys_library() : "",
	       frag_packing_library(FRAG_GZIP), frag_packing_library(FRAG_ZSTD),
	       FRAG_PLUGIN_VERSION);
}

/* Names that commands had before they were published, and what does the same now. */
static const struct { const char *old, *now; } old_names[] = {
	{ "info", "trace info" }, { "convert", "trace convert" }, { "merge", "trace merge" },
	{ "slice", "trace slice" }, { "shrink", "trace shrink" }, { "anonymize", "trace anonymize" },
	{ "gen", "trace gen" }, { "policies", "list policies" }, { "cards", "list cards" },
	{ "extrapolate", "predict" }, { "what-if", "predict" }, { "tune", "fit" }, { "report", "run -o page.html" },
};

const char *frag_command_verb(const struct frag_cmd *cmd)
{
	const char *blank = strchr(cmd->name, ' ');

	return blank ? blank + 1 : cmd->name;
}

void frag_commands_print(enum frag_cmd_group group, FILE *f)
{
	for (uint32_t i = 0; frag_commands[i]; i++)
		if (frag_commands[i]->group == group)
			fprintf(f, "  %-11s  %s\n", frag_command_verb(frag_commands[i]),
				frag_commands[i]->summary);
}

/* One of the verbs of a command, or with `of` NULL one of the commands. */
static const struct frag_cmd *find_among(const struct frag_cmd *of, const char *name,
					 struct frag_error *err)
{
	struct frag_suggestion near = frag_near_to(name, strlen(name));
	char hint[FRAG_HINT_ROOM];

	for (uint32_t i = 0; frag_commands[i]; i++) {
		const struct frag_cmd *cmd = frag_commands[i];

		if (of ? cmd->group != of->verbs : strchr(cmd->name, ' ') != NULL)
			continue;
		if (strcmp(frag_command_verb(cmd), name) == 0)
			return cmd;
		frag_near_offer(&near, frag_command_verb(cmd));
	}
	for (size_t i = 0; !of && i < sizeof(old_names) / sizeof(old_names[0]); i++)
		if (strcmp(old_names[i].old, name) == 0) {
			frag_fail(err, FRAG_EUSAGE, "\"%s\" is an old name: use fragsim %s", name,
				  old_names[i].now);
			return NULL;
		}
	frag_fail(err, FRAG_EUSAGE, "no command \"%s%s%.60s\";%s fragsim %s%s--help lists them",
		  of ? of->name : "", of ? " " : "", name, frag_near_hint(&near, "", hint),
		  of ? of->name : "", of ? " " : "");
	return NULL;
}

const struct frag_cmd *frag_command_find(char *const *words, int count, int *taken,
					 struct frag_error *err)
{
	const struct frag_cmd *cmd = find_among(NULL, words[0], err);

	*taken = 1;
	if (!cmd || !cmd->verbs || count < 2 || *words[1] == '-')
		return cmd;
	*taken = 2;
	return find_among(cmd, words[1], err);
}

static int unknown_option(const char *name, struct frag_error *err)
{
	struct frag_suggestion near = frag_near_to(name, strlen(name));
	char hint[FRAG_HINT_ROOM];

	frag_near_offer(&near, "--color");
	frag_near_offer(&near, "--help");
	frag_near_offer(&near, "--version");
	return frag_fail(err, FRAG_EUSAGE, "unknown option %.60s;%s a command comes first:"
			 " fragsim --help lists them", name, frag_near_hint(&near, "", hint));
}

/* --color WHAT and --color=WHAT, of every command; *taken words are theirs. */
static int set_color(int argc, char **argv, int *taken, struct frag_error *err)
{
	int rc = 0;

	*taken = 0;
	while (!rc && *taken + 1 < argc) {
		const char *word = argv[*taken + 1];

		if (strncmp(word, "--color=", strlen("--color=")) == 0) {
			rc = frag_option_word(&frag_color, "color", word + strlen("--color="),
					      frag_color_words, err);
			*taken += 1;
		} else if (strcmp(word, "--color") == 0 && *taken + 2 < argc) {
			rc = frag_option_word(&frag_color, "color", argv[*taken + 2],
					      frag_color_words, err);
			*taken += 2;
		} else if (strcmp(word, "--color") == 0) {
			rc = frag_fail(err, FRAG_EUSAGE, "option --color requires a value: auto,"
				       " always or never");
		} else {
			break;
		}
	}
	return rc;
}

/*
 * Options of the program itself are in front of a command; everything else is the
 * command's.
 */
static int dispatch(int argc, char **argv, int *status, struct frag_error *err)
{
	const struct frag_cmd *cmd;
	const char *name;
	int taken, rc = set_color(argc, argv, &taken, err);

	if (rc)
		return rc;
	argc -= taken;
	argv += taken;
	name = argc > 1 ? argv[1] : "";
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		print_version();
		return 0;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return frag_command_run(&frag_cmd_help, 1, argv, status, err);
	if (argc < 2)
		return frag_fail(err, FRAG_EUSAGE, "missing argument: COMMAND; fragsim --help lists them");
	if (*name == '-')
		return unknown_option(name, err);
	cmd = frag_command_find(argv + 1, argc - 1, &taken, err);
	/* a file that exists is explained */
	if (!cmd && taken == 1 && access(name, R_OK) == 0)
		return frag_command_run(&frag_cmd_explain, argc, argv, status, err);
	return cmd ? frag_command_run(cmd, argc - taken, argv + taken, status, err) : err->code;
}

int main(int argc, char **argv)
{
	struct frag_error err = { .code = 0 };
	int status = 0;
	int rc;

	hold_standard_streams();
	frag_memory_return_freed(FRAG_LARGE);
	frag_catch_signals();
	rc = frag_progress_open(&err);
	rc = rc ? rc : dispatch(argc, argv, &status, &err);
	rc = rc ? rc : frag_flush_stdout(&err);
	if (rc && rc != -FRAG_EPIPE && rc != -FRAG_EINTERRUPTED)
		frag_print_message("%s", err.message);
	return rc ? frag_error_status(rc) : status;
}
