/* version.h - the version of fragsim, as one string. */
#ifndef FRAGSIM_VERSION_H
#define FRAGSIM_VERSION_H

#define FRAG_VERSION "0.1.0"

#endif
