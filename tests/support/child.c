/* child.c - work that may crash, in a process of its own. */
#include "support/child.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int child_run(int (*work)(void))
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		/* a sanitizer's last words would only confuse the TAP of the parent */
		if (!freopen("/dev/null", "w", stderr))
			_exit(98);
		_exit(work());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) < 99 ? WEXITSTATUS(status) : -1;
}
