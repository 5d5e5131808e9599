/* cards_write.c - GPUs with the memory that their driver reports, as JSON. */
#include "documents/document_head.h"
#include "documents/documents.h"

int frag_cards_write(const struct frag_card *const *cards, struct frag_outfile *out,
		     struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-cards"), list, o;
	int rc;

	list = frag_json_array(root, "cards");
	for (; *cards; cards++) {
		o = frag_json_object(list, NULL);
		frag_json_text(o, "key", (*cards)->key);
		frag_json_text(o, "name", (*cards)->name);
		frag_json_u64(o, "bytes", (*cards)->bytes);
		frag_json_text(o, "reported", (*cards)->reported);
		frag_json_text(o, "by", (*cards)->by);
		frag_json_text(o, "source", (*cards)->source);
	}
	rc = frag_json_write(&doc, out, err);
	frag_json_end(&doc);
	return rc;
}
