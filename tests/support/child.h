/* child.h - work that may crash, in a process of its own. */
#pragma once

/* Runs the work in a child; what it returned (0 to 99), or -1 where it crashed. */
int child_run(int (*work)(void));
