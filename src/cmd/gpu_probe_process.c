/* gpu_probe_process.c - a second process, which sees what our first call to a GPU costs. */
#include "cmd/gpu_probe_process.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct sight {
	uint64_t free;
	bool good;
};

/* All of it, or false: the other end has gone. */
static bool read_whole(int fd, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (char *)to + done, size - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			return false;
	}
	return true;
}

static void testify(int ask, int answer)
{
	uint32_t ordinal;

	/* a Ctrl-C is for whoever started us, and our end is the end of the pipe */
	signal(SIGINT, SIG_IGN);
	while (read_whole(ask, &ordinal, sizeof(ordinal))) {
		struct sight sight = { .free = 0 };

		sight.good = frag_gpu_query_free(ordinal, &sight.free);
		if (write(answer, &sight, sizeof(sight)) != (ssize_t)sizeof(sight))
			return;
	}
}

static bool ask_witness(void *ctx, uint32_t ordinal, uint64_t *bytes)
{
	struct frag_gpu_probe_process *w = ctx;
	struct sight sight;

	if (!w->pid || write(w->ask, &ordinal, sizeof(ordinal)) != (ssize_t)sizeof(ordinal)
	    || !read_whole(w->answer, &sight, sizeof(sight)))
		return false;
	*bytes = sight.free;
	return sight.good;
}

void frag_witness_end(struct frag_gpu_probe_process *w)
{
	if (!w->pid)
		return;
	close(w->ask);
	close(w->answer);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	w->pid = 0;
}

static void end_witness(void *ctx)
{
	frag_witness_end(ctx);
}

/*
 * This process must not have used CUDA yet, as a child could not use it after
 * that. Where anything fails there is no witness, and the replay does without.
 */
void frag_witness_begin(struct frag_gpu_probe_process *w, struct frag_gpu_witness *out)
{
	int to[2], from[2];

	*out = (struct frag_gpu_witness){ .ask = ask_witness, .end = end_witness, .ctx = w };
	*w = (struct frag_gpu_probe_process){ .pid = 0 };
	if (pipe(to) != 0)
		return;
	if (pipe(from) != 0) {
		close(to[0]);
		close(to[1]);
		return;
	}
	w->pid = fork();
	if (w->pid == 0) {
		close(to[1]);
		close(from[0]);
		testify(to[0], from[1]);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	w->ask = to[1];
	w->answer = from[0];
	if (w->pid < 0) {
		close(w->ask);
		close(w->answer);
		w->pid = 0;
	}
}
