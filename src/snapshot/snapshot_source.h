/* snapshot_source.h - PyTorch's snapshots as forms: a pickle, JSON, a viewer's page. */
#ifndef SNAPSHOT_SNAPSHOT_SOURCE_H
#define SNAPSHOT_SNAPSHOT_SOURCE_H

#include "trace/reader.h"

extern const struct frag_reader frag_reader_pickle, frag_reader_snapshot_json,
	frag_reader_snapshot_page;

#endif
