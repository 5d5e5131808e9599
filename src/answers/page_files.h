/* page_files.h - the files of src/answers/page, as the Makefile turns them into C. */
#ifndef ANSWERS_PAGE_FILES_H
#define ANSWERS_PAGE_FILES_H

/* Each is ended by a NUL. */
extern const char frag_page_html[], frag_page_css[], frag_page_js[];

#endif
