/* torch_message.h - reads PyTorch's message, and that of its Metal backend, around "Tried to allocate". */
#pragma once

#include "messages/match.h"

/* As frag_form.read. The second one: the words of the request have a wrong letter. */
bool frag_read_torch(const struct frag_stripped_text *in, size_t at, struct frag_message *m, size_t *end);
bool frag_read_torch_head(const struct frag_stripped_text *in, size_t at, struct frag_message *m, size_t *end);
