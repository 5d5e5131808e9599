/* diagnosis_write.h - what a report says of a run beyond its figures, in the result object. */
#ifndef DOCUMENTS_DIAGNOSIS_WRITE_H
#define DOCUMENTS_DIAGNOSIS_WRITE_H

#include "base/json.h"
#include "search/diagnose_run.h"

/* The member `answer` of a run. answer: NULL where nobody looked for it. */
void frag_json_answer(struct frag_node_ref run, const struct frag_result *result,
		      const struct frag_diagnosis *answer);

#endif
