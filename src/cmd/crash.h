/*
 * crash.h - a crash in the code of a plug-in is reported with its name and the step.
 *
 * The process dies of the signal all the same. Nothing is caught before there is
 * a plug-in, and nothing is said of a crash elsewhere.
 */
#ifndef CMD_CRASH_H
#define CMD_CRASH_H

/* Before any plug-in is loaded. */
void frag_watch_plugins(void);

#endif
