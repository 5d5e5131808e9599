/* page_files.h - the files of src/report/page, as the Makefile turns them into C. */
#ifndef REPORT_PAGE_FILES_H
#define REPORT_PAGE_FILES_H

/* Each is ended by a NUL. */
extern const char frag_page_html[], frag_page_css[], frag_page_js[];

#endif
