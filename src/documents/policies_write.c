/* policies_write.c - policies with their keys, as JSON. */
#include "documents/document_head.h"
#include "documents/documents.h"

static void policies_write_put_param(struct frag_node_ref list, const struct frag_param_spec *spec)
{
	static const char *const types[] = { "size", "count", "bool", "own", "file", "name" };
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_text(o, "name", spec->name);
	frag_json_text(o, "type", types[spec->type]);
	if (spec->same_as)
		frag_json_text(o, "default", spec->same_as);
	else
		frag_json_param(o, "default", spec, spec->fallback);
	if (spec->type == FRAG_PARAM_OWN)
		frag_json_text(o, "expects", spec->expects);
	if (spec->type == FRAG_PARAM_SIZE || spec->type == FRAG_PARAM_COUNT) {
		frag_json_u64(o, "least", spec->min);
		frag_json_bool(o, "power_of_two", spec->power_of_two);
	}
	frag_json_text(o, "help", spec->help);
}

int frag_policies_write(const struct frag_policy_ops *const *policies, struct frag_outfile *out,
			struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-policies"), list, o, params;
	int rc;

	list = frag_json_array(root, "policies");
	for (uint32_t i = 0; policies[i]; i++) {
		o = frag_json_object(list, NULL);
		frag_json_text(o, "name", policies[i]->name);
		frag_json_text(o, "summary", policies[i]->summary);
		params = frag_json_array(o, "params");
		for (uint32_t k = 0; policies[i]->params && policies[i]->params[k].name; k++)
			policies_write_put_param(params, &policies[i]->params[k]);
	}
	rc = frag_json_write(&doc, out, err);
	frag_json_end(&doc);
	return rc;
}
