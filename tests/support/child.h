/* child.h - work that may crash, in a process of its own. */
#ifndef SUPPORT_CHILD_H
#define SUPPORT_CHILD_H

/* Runs the work in a child; what it returned (0 to 99), or -1 where it crashed. */
int child_run(int (*work)(void));

#endif
