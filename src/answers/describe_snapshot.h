/* describe_snapshot.h - what a snapshot of PyTorch says of its recording. */
#ifndef ANSWERS_DESCRIBE_SNAPSHOT_H
#define ANSWERS_DESCRIBE_SNAPSHOT_H

#include <stdio.h>

#include "base/json.h"
#include "snapshot/snapshot.h"

/* The PyTorch that recorded it, as "2.8", and what tells it; version NULL: nobody knows. */
struct frag_recorded_by {
	const char *version, *why;
};

/* Lines: of all of it, and of a device. */
void frag_describe_snapshot(const struct frag_snapshot *s, FILE *f);
void frag_describe_recorded(const struct frag_snapshot *s, uint32_t device, FILE *f);

/* Both, as the member "recording". */
void frag_describe_json(struct frag_node_ref root, const struct frag_snapshot *s,
			const struct frag_recorded_by *by);

#endif
