/* page_files.c - the files of src/answers/page; what is included is made by the Makefile. */
#include "answers/page_files.h"

#include <page_files.inc>
