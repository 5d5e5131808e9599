/* head.h - how every JSON document of fragsim begins. */
#ifndef REPORT_HEAD_H
#define REPORT_HEAD_H

#include "base/json.h"

/* The document's root, with its format and version 1. */
struct frag_node_ref frag_document_begin(struct frag_json *doc, const char *format);

/* What wrote it: a member `tool`. */
void frag_document_tool(struct frag_node_ref root);

/* A trace's content as 16 digits: a member of this name. */
void frag_document_content(struct frag_node_ref in, const char *key, uint64_t content);

#endif
