/* account_answer.h - the memory values of a text, and how those of two differ, in each format. */
#pragma once

#include "answers/table.h"
#include "messages/accounts.h"

/* Prints the memory values of a text without a failure; there is at least one. */
void frag_report_accounts(const struct frag_accounts *accounts, const struct frag_text_style *to);

/* For a struct frag_account_changes: text, csv, json, markdown. */
extern const struct frag_format *const frag_account_formats[];
extern const struct frag_document_type frag_accounts_document;
