/* page_files.c - the files of src/report/page; what is included is made by the Makefile. */
#include "report/page_files.h"

#include <page_files.inc>
