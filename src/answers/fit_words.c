/* fit_words.c - words that several forms of a fit share. */
#include "answers/fit_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/escape.h"

static bool many_devices(const struct frag_fits *fits)
{
	for (uint32_t i = 0; i < fits->count; i++)
		if (fits->fitted[i].device != fits->fitted[0].device)
			return true;
	return false;
}

const char *frag_fit_name(const struct frag_fits *fits, const struct frag_fitted *one,
			  char buf[FRAG_FIT_NAME_ROOM])
{
	const struct frag_choice *choice = &fits->sources[one->source].choices[one->choice];

	if (many_devices(fits))
		frag_format_printable(buf, FRAG_FIT_NAME_ROOM, "%s @%u", frag_choice_label(choice),
				      one->device);
	else
		frag_format_printable(buf, FRAG_FIT_NAME_ROOM, "%s", frag_choice_label(choice));
	return buf;
}

char *frag_capacity_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB" };
	uint32_t i = 0;

	while (i < 2 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, FRAG_NUMBER_ROOM, "%" PRIu64 " %s", bytes, units[i]);
	return buf;
}

char *frag_device_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	return bytes % (UINT64_C(1) << 20) ? frag_size_text(buf, bytes)
					   : frag_capacity_text(buf, bytes);
}

double frag_fit_above_floor(const struct frag_fit *fit)
{
	if (!fit->floor)
		return 0;
	return 100 * ((double)fit->smallest / (double)fit->floor - 1);
}
