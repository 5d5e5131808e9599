/* held.c - a library whose constructor calls the program: the dynamic linker's lock is held. */
#include <stdlib.h>

int while_held(void);

__attribute__((constructor)) static void begin(void)
{
	const int status = while_held();

	if (status != 7)
		exit(9);
}
