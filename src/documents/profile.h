/*
 * profile.h - what a replay has learned of a device, out of a file: see fragsim-profile(5).
 */
#ifndef DOCUMENTS_PROFILE_H
#define DOCUMENTS_PROFILE_H

#include "device/driver_cost_model.h"
#include "fragsim/device.h"

struct frag_profile {
	struct frag_device_figures figures;     /* owns its name */
	struct frag_driver_model model;
};

/*
 * "-" is standard input. -FRAG_ETRACE, naming the file and the place or the
 * member; members that nobody knows are passed over.
 */
int frag_profile_read(struct frag_profile *profile, const char *path, struct frag_error *err);
void frag_profile_fini(struct frag_profile *profile);

#endif
