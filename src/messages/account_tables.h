/* account_tables.h - tables of tools in a text, and lines of them. Each notes what it reads. */
#pragma once

#include "messages/accounts.h"

#define FRAG_ACCOUNT_LINE 1024          /* bytes of a line that count */
#define FRAG_ACCOUNT_BYTES_MAX ((UINT64_C(1) << 53) - 1)

/* A number with an optional unit, or with that of its heading (0: none), which *p is moved behind. */
bool frag_plain_size(const char **p, uint64_t unit, uint64_t *bytes);

/* Draws edges of boxes with one byte. */
void frag_plain_edges(char *line);

/* A table whose first line, which has `at`, names its columns; the lines behind "--showpids". */
void frag_account_table(struct frag_accounts *a, const struct frag_stripped_text *in, size_t at, uint64_t line);
void frag_account_pids(struct frag_accounts *a, const struct frag_stripped_text *in, size_t at);

/* A line of a process; "18432MiB / 81920MiB" of a device. False: the line is none. */
bool frag_account_process(struct frag_accounts *a, const char *line);
bool frag_account_used_of(struct frag_accounts *a, const struct frag_stripped_text *in, size_t at, const char *line);
