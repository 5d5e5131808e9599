/* format.h - numbers and strings as fragsim writes them, into memory. */
#pragma once

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The most bytes that any writer below needs, except those of strings. */
#define FRAG_NUMBER_ROOM 32

/* Each writes at p, without a NUL, and returns the place after it. */
char *frag_put_u64(char *p, uint64_t value);
char *frag_put_i64(char *p, int64_t value);

/* Sums of many sizes, which may exceed 64 bits. */
__extension__ typedef unsigned __int128 frag_wide;

/* A percentage or another small double, exactly as printf's %.4f. */
char *frag_put_fixed4(char *p, double value);

/* The value that is read back from that. */
double frag_fixed4(double value);

/* Any finite double, in as few digits as read back to it. */
char *frag_put_double(char *p, double value);

/*
 * One code point of UTF-8 from *s on, which is no ASCII; moves *s after it. A byte
 * that begins none (in a file's name, say) counts as U+FFFD.
 */
uint32_t frag_code_point(const char **s, const char *end);

/*
 * Writes a JSON string with its quotes. Characters other than printable ASCII, and the bracket
 * that is_ci_command() reports, are escaped; bytes that are not UTF-8 become U+FFFD. Needs
 * at most 6 bytes for each byte of text, and 2.
 */
char *frag_put_json(char *p, const char *text, size_t length);
/* The same, terminated and owned by the caller. NULL: out of memory. */
char *frag_new_json(const char *text, size_t length);

/* Writes the text, with U+FFFD for bytes that are not UTF-8. Needs at most 3 bytes for each
 * byte. */
char *frag_put_utf8(char *p, const char *text, size_t length);

/* Writes a CSV field, quoted where RFC 4180 requires it. Needs at most 2 bytes for each byte,
 * and 2. */
char *frag_put_csv(char *p, const char *text, size_t length);

/*
 * value * scale, 10 to the power of decimals, rounded to the nearest integer as
 * decimal printing rounds it: on the exact binary value, a tie to even. value is
 * from 0 to 1e7. The product of doubles decides, except near a tie, where its own
 * rounding could mislead: there printf does. Adding 1.5 * 2^52 leaves no place
 * after the point, which rounds faster than a way through an integer.
 */
uint64_t frag_scaled_tie(double value, int decimals);
static inline uint64_t frag_scaled(double value, double scale, int decimals)
{
	const double product = value * scale;
	const double nearest = product + 0x1.8p52 - 0x1.8p52;

	if (fabs(product - nearest) < 0.4999)
		return (uint64_t)(int64_t)nearest;
	return frag_scaled_tie(value, decimals);
}

/* The value in hundredths, rounded as printf's %.2f does: 3.125 gives 312. */
static inline uint32_t frag_hundredths(double percent)
{
	return (uint32_t)frag_scaled(percent, 1e2, 2);
}

/* "1 step", "2 steps": the letter that makes a plural. */
static inline const char *frag_s(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* A size for people: "1 byte", "916.00 MiB", "1.00 GiB"; up to PiB. */
char *frag_size_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes);

/* A device's capacity, exactly: "2958 MiB", not "2.89 GiB"; in the largest unit up to MiB. */
char *frag_capacity_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes);

/* The capacity of a given device, maybe of a card: rounded where it is not a whole number of MiB. */
char *frag_device_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes);

/* 950 ns, 12.3 us, 4.56 ms, 1.23 s: three digits of it. */
char *frag_time_text(char buf[FRAG_NUMBER_ROOM], uint64_t ns);

/* The text of a size, in an array that is valid until the end of the enclosing block. */
#define SIZE(bytes) frag_size_text((char[FRAG_NUMBER_ROOM]){ 0 }, (bytes))
#define CAPACITY(bytes) frag_capacity_text((char[FRAG_NUMBER_ROOM]){ 0 }, (bytes))
#define DEVICE(bytes) frag_device_text((char[FRAG_NUMBER_ROOM]){ 0 }, (bytes))

/*
 * printf and strtod as the C locale has them.
 *
 * The program around the library may have set a locale that writes numbers with a
 * comma. The library reads and writes them with a point all the same: whatever
 * prints or reads a number with a fraction does it here. Only the calling thread's
 * locale changes, and only for the time of the call.
 */
double frag_strtod(const char *text, char **end);

int frag_vsnprintf(char *buf, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
int frag_snprintf(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int frag_fprintf(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for calls of another library: this thread has the C locale until uselocale(it). */
locale_t frag_locale_begin(void);

/*
 * Text from outside, as it may be shown to people. Names, paths and settings come
 * from foreign files, and go to terminals and to the logs of CI services. Text that could
 * control these, or mislead a reader, is written as an escape: control characters (\n, \u001b),
 * bytes that are not UTF-8 (\xff), separators of lines and paragraphs, marks that change the
 * direction of text, and prefixes of CI commands: "##[", "##vso[", and "::" where a line may
 * begin. Other text stays unchanged, so escaping escaped text changes nothing.
 */

/* Writes at p, without a NUL, up to 6 bytes for each byte of text; returns the place after it. */
char *frag_put_printable(char *p, const char *text, size_t length);

/* Returns the text itself if it needs no escape, else an escaped copy in buf, cut to fit. */
#define FRAG_PRINTABLE_ROOM 1024
const char *frag_printable(char buf[FRAG_PRINTABLE_ROOM], const char *text);
/* In an array that is valid until the end of the enclosing block. */
#define SHOWN(text) frag_printable((char[FRAG_PRINTABLE_ROOM]){ 0 }, (text))

/* As snprintf, with such escapes, and never cut within one or within a character. */
void frag_format_printable(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void frag_vformat_printable(char *buf, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/*
 * Returns the bytes of the first line of at most `columns` columns. Lines break at a space,
 * except one between a number and its unit; a longer word is cut. A byte is a column, except
 * the bytes of colour codes, which have no width. The caller skips the spaces after the line.
 */
size_t frag_wrap(const char *text, size_t columns);

#define FRAG_SHORT_NAME 61
/*
 * Copies a JSON string with its quotes to buf; of one with more than 60 bytes only the
 * beginning, three dots and the closing quote. Returns buf.
 */
const char *frag_short_name(const char *json, char buf[FRAG_SHORT_NAME]);

/* The word as a shell needs it, quoted where it must be, in 4 bytes a character and 3; its end. */
char *frag_put_shell_word(char *p, const char *word);
