/* memory_categories.c - the categories of PyTorch's memory timeline, which its reader makes tags. */
#include "explain/memory_categories.h"

#include "base/parse.h"
#include "events/tape.h"

static const struct {
	const char *tag;
	enum frag_life_class life;
} categories[] = {
	{ "PARAMETER", FRAG_LIFE_WEIGHTS },       { "GRADIENT", FRAG_LIFE_GRADIENTS },
	{ "OPTIMIZER_STATE", FRAG_LIFE_OPTIMIZER }, { "INPUT", FRAG_LIFE_INPUTS },
	{ "ACTIVATION", FRAG_LIFE_ACTIVATIONS },  { "TEMPORARY", FRAG_LIFE_TEMPORARIES },
	/* made by a backward pass, and no gradient of a parameter */
	{ "AUTOGRAD_DETAIL", FRAG_LIFE_ACTIVATIONS },
};

enum frag_life_class frag_class_of_category(const struct frag_symbols *symbols, uint32_t tag)
{
	const struct frag_text text = frag_symbols_tag(symbols, tag);

	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
		if (frag_text_equals(text, categories[i].tag))
			return categories[i].life;
	return FRAG_LIFE_UNKNOWN;
}

bool frag_states_categories(const struct frag_tape *tape)
{
	const struct frag_symbols *symbols = frag_tape_symbols(tape);
	bool any = false;

	for (uint32_t i = 0; i < tape->site_count; i++) {
		const uint32_t tag = tape->sites[i].tag;

		if (tag && frag_class_of_category(symbols, tag) == FRAG_LIFE_UNKNOWN)
			return false;
		any = any || tag;
	}
	return any;
}
