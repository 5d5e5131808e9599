/*
 * exports.h - what libfragsim.so shows: the public headers, and no more.
 *
 * The shared objects are compiled with hidden visibility and read this before
 * all else. In the headers themselves the same marks would reach a plug-in,
 * whose own frag_heap_take() has to stay hidden.
 */
#pragma GCC visibility push(default)
#include "fragsim/device.h"
#include "fragsim/engine.h"
#include "fragsim/error.h"
#include "fragsim/heap.h"
#include "fragsim/metrics.h"
#include "fragsim/policy.h"
#include "fragsim/trace.h"
#pragma GCC visibility pop
