/* known_lists.h - lists of what there is: policies with their keys, known GPUs, settings of PyTorch. */
#pragma once

#include "answers/table.h"
#include "base/atomic_file.h"
#include "device/known_cards.h"
#include "documents/fields.h"
#include "fragsim/policy.h"
#include "policy/policies.h"

/* Policies, ended by NULL, with their keys: as text, and as JSON. */
void frag_report_policies(const struct frag_policy_ops *const *policies, FILE *f);
int frag_policies_write(const struct frag_policy_ops *const *policies, struct frag_outfile *out,
			struct frag_error *err);

struct frag_card_list {
	const struct frag_card *const *cards;   /* ended by NULL; borrowed */
	bool whole;                             /* with the published values and their pages */
};

/* Cards, ended by NULL: in a table, or the whole of what is known of each. */
void frag_report_cards(const struct frag_card *const *cards, bool whole, FILE *f);
/* A struct frag_card_list as JSON. */
int frag_cards_write(void *cards, struct frag_outfile *out, struct frag_error *err);

/* Keys of PYTORCH_CUDA_ALLOC_CONF. */
struct frag_settings {
	struct frag_setting *list;
	uint32_t count;
};
/* For a struct frag_settings: text, csv, json, markdown. */
extern const struct frag_format *const frag_settings_formats[];

extern const struct frag_document_type frag_policies_document, frag_cards_document, frag_settings_document;
