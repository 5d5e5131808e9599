/* account_tables.c - tables of tools: nvidia-smi, rocm-smi, npu-smi, and any whose head names its columns. */
#include "messages/account_tables.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"

#define TABLE_LINES 128         /* of one table */
#define TABLE_MOST 12000        /* squeezed bytes of one: less than a finder keeps behind a word */

#define A(kind) FRAG_ACCOUNT_##kind

/* Does the text begin with a word, whatever its case? */
static bool begins_alike(const char *text, const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (tolower((unsigned char)text[i]) != word[i])
			return false;
	return true;
}

bool frag_plain_size(const char **p, uint64_t unit, uint64_t *bytes)
{
	static const struct {
		const char *name;
		unsigned shift;
	} units[] = {
		{ "kib", 10 }, { "mib", 20 }, { "gib", 30 }, { "tib", 40 }, { "kb", 10 }, { "mb", 20 },
		{ "gb", 30 }, { "tb", 40 }, { "bytes", 0 },
	};
	const char *s = *p;
	double value = 0, scale = 1;
	int digits = 0;

	for (; frag_is_digit(*s) || (*s == ',' && digits && frag_is_digit(s[1]) && frag_is_digit(s[2])
				     && frag_is_digit(s[3])); s++)
		if (*s != ',') {
			value = value * 10 + (*s - '0');
			digits++;
		}
	if (*s == '.' && frag_is_digit(s[1]))
		for (s++; frag_is_digit(*s); s++) {
			scale /= 10;
			value += scale * (*s - '0');
		}
	if (!digits || digits > 17)
		return false;
	*p = s;
	while (*s == ' ')
		s++;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		const size_t length = strlen(units[i].name);

		if (begins_alike(s, units[i].name, length) && !frag_is_letter(s[length]) && s[length] != '/') {
			unit = UINT64_C(1) << units[i].shift;
			*p = s + length;
			break;
		}
	}
	value *= (double)unit;
	*bytes = value < (double)FRAG_ACCOUNT_BYTES_MAX ? (uint64_t)(value + 0.5) : FRAG_ACCOUNT_BYTES_MAX + 1;
	return unit > 0;
}

#define COLUMNS_MAX 24

/* The cells of a line, separated by `mark`; edges have none. */
static int cells_of(char *line, char mark, char *cells[COLUMNS_MAX])
{
	int count = 0;
	char *p = line;

	while (*p == ' ' || *p == mark)
		p++;
	while (*p && count < COLUMNS_MAX) {
		char *end = strchr(p, mark), *last;

		cells[count++] = p;
		if (end)
			*end = '\0';
		for (last = p + strlen(p); last > p && last[-1] == ' '; last--)
			last[-1] = '\0';
		if (!end)
			break;
		for (p = end + 1; *p == ' ';)
			p++;
	}
	while (count > 0 && !*cells[count - 1])
		count--;
	return count;
}

void frag_plain_edges(char *line)
{
	char *to = line;

	for (const char *p = line; *p; p++) {
		if ((unsigned char)*p == 0xe2 && (unsigned char)p[1] == 0x94 && p[2]) {
			*to++ = '|';
			p += 2;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

static bool account_has_word(const char *text, const char *word)
{
	const size_t length = strlen(word);

	for (; *text; text++)
		if (begins_alike(text, word, length))
			return true;
	return false;
}

struct columns {
	int bytes, total, free, pid, name, device, count;
	uint64_t unit;
	char mark;
};

/* Which column is what; false: none has bytes. */
static bool account_read_columns(char *line, struct columns *c)
{
	char *cells[COLUMNS_MAX];

	*c = (struct columns){ .bytes = -1, .total = -1, .free = -1, .pid = -1, .name = -1, .device = -1,
			       .mark = strchr(line, '|') ? '|' : ',', .unit = UINT64_C(1) << 20 };
	c->count = cells_of(line, c->mark, cells);
	for (int i = 0; i < c->count; i++) {
		const char *cell = cells[i];

		if (account_has_word(cell, "total") && account_has_word(cell, "mem"))
			c->total = i;
		else if (account_has_word(cell, "free") && account_has_word(cell, "mem"))
			c->free = i;
		else if (account_has_word(cell, "mem") && !account_has_word(cell, "utilization"))
			c->bytes = i;
		else if (account_has_word(cell, "pid") || account_has_word(cell, "process id"))
			c->pid = i;
		else if (account_has_word(cell, "name") || account_has_word(cell, "command"))
			c->name = i;
		else if (account_has_word(cell, "npu") || account_has_word(cell, "gpu") || account_has_word(cell, "index"))
			c->device = i;
	}
	if (account_has_word(line, "(gb)") || account_has_word(line, "(gib)"))
		c->unit = UINT64_C(1) << 30;
	return (c->bytes >= 0 || c->total >= 0) && c->count > 1;
}

static void account_note_process(struct frag_accounts *a, const char *device, const char *pid, const char *name,
			 uint64_t bytes)
{
	struct frag_account value = { .bytes = bytes, .kind = A(PROCESS), .device = FRAG_NO_GPU };
	const char *base = strrchr(name, '/');
	uint64_t number = 0;

	for (const char *p = device; frag_is_digit(*p) && number < 4096; p++)
		number = number * 10 + (uint64_t)(*p - '0');
	if (frag_is_digit(*device))
		value.device = (uint32_t)number;
	if (*name && name[strcspn(name, " ")] == '\0' && base)
		name = base + 1;
	frag_snprintf(value.who, sizeof(value.who), "%s%.*s%sprocess %.12s%s%.30s%s", *device ? "device " : "",
		      (int)strcspn(device, " "), device, *device ? ", " : "", pid, *name ? " (" : "", name,
		      *name ? ")" : "");
	frag_account_note(a, &value, false);
}

static void account_note_device(struct frag_accounts *a, const char *device, enum frag_account_kind kind, uint64_t bytes)
{
	struct frag_account value = { .bytes = bytes, .kind = kind, .device = FRAG_NO_GPU };

	if (frag_is_digit(*device))
		value.device = (uint32_t)strtoul(device, NULL, 10);
	frag_snprintf(value.who, sizeof(value.who), "%s%.*s%s%s", *device ? "device " : "",
		      (int)strcspn(device, " "), device, *device ? ": " : "", frag_account_kind_name(kind));
	frag_account_note(a, &value, false);
}

/* "USED / TOTAL" at *p, which is moved behind it; units as of frag_plain_size(). */
static bool pair_at(const char *line, const char **p, uint64_t used_unit, uint64_t total_unit,
		    uint64_t *used, uint64_t *total)
{
	const char *s = *p;

	if (!frag_is_digit(*s) || (s > line && (frag_is_digit(s[-1]) || s[-1] == '.'))
	    || !frag_plain_size(&s, used_unit, used))
		return false;
	s += strspn(s, " ");
	if (*s++ != '/')
		return false;
	s += strspn(s, " ");
	if (!frag_plain_size(&s, total_unit, total))
		return false;
	*p = s;
	return true;
}

/* "0 / 0 59012/ 65536": the last pair of a line, without a unit. */
static bool last_pair(const char *line, uint64_t *used, uint64_t *total)
{
	bool any = false;

	for (const char *p = line; *p; p++) {
		const char *s = p;

		if (!pair_at(line, &s, 1, 1, used, total))
			continue;
		any = true;
		p = s - 1;
	}
	return any;
}

static size_t table_limit(const struct frag_stripped_text *in, size_t at)
{
	return in->used - at < TABLE_MOST ? in->used : at + TABLE_MOST;
}

/* npu-smi: two lines for each device, the second with "used / total" at its end. */
static void read_npu_table(struct frag_accounts *a, const struct frag_stripped_text *in, size_t at, uint64_t line)
{
	char text[FRAG_ACCOUNT_LINE], device[16] = "", *cells[COLUMNS_MAX];
	const size_t limit = table_limit(in, at);
	bool second = false;

	for (int i = 0; i < TABLE_LINES; i++) {
		uint64_t used, total;

		at = frag_line_behind(in, at);
		if (at >= limit)
			return;
		frag_line_text(in, at, text, sizeof(text));
		frag_plain_edges(text);
		a->table_end = line + (uint64_t)i + 1;
		if (strstr(text, "---") || strstr(text, "==="))
			continue;
		if (!second) {
			frag_snprintf(device, sizeof(device), "%.*s", (int)strcspn(text + strspn(text, " |"), " |"),
				      text + strspn(text, " |"));
			if (!frag_is_digit(*device))
				return;
		} else if (last_pair(text, &used, &total)) {
			account_note_device(a, device, A(USED), used << 20);
			account_note_device(a, device, A(TOTAL), total << 20);
		} else if (cells_of(text, '|', cells) < 2) {
			return;
		}
		second = !second;
	}
}

/* A table whose first line names its columns. */
void frag_account_table(struct frag_accounts *a, const struct frag_stripped_text *in, size_t at, uint64_t line)
{
	char text[FRAG_ACCOUNT_LINE], *cells[COLUMNS_MAX];
	const size_t limit = table_limit(in, at);
	struct columns c;

	if (line <= a->table_end || line == a->row_line)
		return;
	frag_line_text(in, at, text, sizeof(text));
	frag_plain_edges(text);
	if (account_has_word(text, "hbm-usage") || account_has_word(text, "memory-usage(mb)")) {
		read_npu_table(a, in, at, line);
		return;
	}
	if (!account_read_columns(text, &c))
		return;
	a->table_end = line;
	for (int i = 0, other = 0; i < TABLE_LINES; i++) {
		char none[] = "", index[12];
		const char *device, *p;
		uint64_t bytes;

		at = frag_line_behind(in, at);
		if (at >= limit)
			return;
		frag_line_text(in, at, text, sizeof(text));
		frag_plain_edges(text);
		if (strstr(text, "---") || strstr(text, "==="))
			continue;
		/* a line of another program may be in between */
		if (cells_of(text, c.mark, cells) != c.count) {
			if (other++)
				return;
			continue;
		}
		other = 0;
		a->table_end = line + (uint64_t)i + 1;
		frag_snprintf(index, sizeof(index), "%d", i);
		device = c.device >= 0 ? cells[c.device] : c.pid >= 0 ? none : index;
		p = c.bytes >= 0 ? cells[c.bytes] : none;
		if (frag_plain_size(&p, c.unit, &bytes)) {
			if (c.pid >= 0)
				account_note_process(a, device, cells[c.pid], c.name >= 0 ? cells[c.name] : none, bytes);
			else
				account_note_device(a, device, A(USED), bytes);
		}
		p = c.total >= 0 ? cells[c.total] : none;
		if (frag_plain_size(&p, c.unit, &bytes))
			account_note_device(a, device, A(TOTAL), bytes);
		p = c.free >= 0 ? cells[c.free] : none;
		if (frag_plain_size(&p, c.unit, &bytes))
			account_note_device(a, device, A(FREE), bytes);
	}
}

/* rocm-smi --showpids: columns of blanks; the bytes are three before the end. */
void frag_account_pids(struct frag_accounts *a, const struct frag_stripped_text *in, size_t at)
{
	char text[FRAG_ACCOUNT_LINE], *cells[COLUMNS_MAX];
	const size_t limit = table_limit(in, at);
	int count;

	for (int i = 0; i < TABLE_LINES; i++) {
		const char *p;
		uint64_t bytes;

		at = frag_line_behind(in, at);
		if (at >= limit)
			return;
		frag_line_text(in, at, text, sizeof(text));
		count = cells_of(text, ' ', cells);
		if (count < 5 || !frag_is_digit(*cells[0]))
			return;
		p = cells[count - 3];
		if (frag_plain_size(&p, 1, &bytes))
			account_note_process(a, "", cells[0], cells[1], bytes);
	}
}

/* "| 0 N/A N/A 2041 C /opt/bin/python 18430MiB |" */
bool frag_account_process(struct frag_accounts *a, const char *line)
{
	char copy[FRAG_ACCOUNT_LINE], *cells[COLUMNS_MAX], *words = copy;
	uint64_t bytes;
	int count, kind;
	const char *p;

	frag_snprintf(copy, sizeof(copy), "%s", line);
	for (char *q = copy; *q; q++)
		if (*q == '|')
			*q = ' ';
	count = cells_of(words, ' ', cells);
	for (kind = 1; kind < count; kind++)
		if ((strcmp(cells[kind], "C") == 0 || strcmp(cells[kind], "G") == 0 || strcmp(cells[kind], "C+G") == 0
		     || strcmp(cells[kind], "M+C") == 0) && frag_is_digit(*cells[kind - 1]))
			break;
	if (kind >= count - 1 || !frag_is_digit(*cells[0]))
		return false;
	p = cells[count - 1];
	if (!frag_plain_size(&p, 0, &bytes))
		return false;
	account_note_process(a, cells[0], cells[kind - 1], kind + 1 < count - 1 ? cells[kind + 1] : "", bytes);
	return true;
}

/* "| 1 3 0 0 | 14366MiB / 19968MiB |": the name of an instance, of the first two numbers; false: of none. */
static bool mig_instance(const char *line, char device[24])
{
	char copy[FRAG_ACCOUNT_LINE], *cells[COLUMNS_MAX];
	int count;

	frag_snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(line + strspn(line, " |"), "|"), line + strspn(line, " |"));
	count = cells_of(copy, ' ', cells);
	for (int i = 0; i < count; i++)
		if (cells[i][strspn(cells[i], "0123456789")])
			return false;
	if (count == 4)
		frag_snprintf(device, 24, "MIG-%.8s/%.8s", cells[0], cells[1]);
	return count == 4;
}

/* "18432MiB / 81920MiB": of the device that this line, or the one before it, names first. */
bool frag_account_used_of(struct frag_accounts *a, const struct frag_stripped_text *in, size_t at, const char *line)
{
	char before[FRAG_ACCOUNT_LINE] = "", device[24] = "";
	const size_t head = frag_cursor_at(in, at).head;
	const char *p = line, *from;
	uint64_t used = 0, total = 0;

	if (!strstr(line, "MiB /") && !strstr(line, "MiB/") && !strstr(line, " MB"))
		return false;
	for (; *p; p++) {
		const char *s = p;

		if (pair_at(line, &s, UINT64_C(1) << 20, 0, &used, &total))
			break;
	}
	if (!*p || !total)
		return false;
	if (head > 0)
		frag_line_text(in, head - 1, before, sizeof(before));
	from = *line == '[' || (frag_is_digit(*line) && strstr(line, "NVIDIA")) ? line
	       : strstr(before, ":00.") || strstr(before, "NVIDIA") ? before : "";
	from += strspn(from, "[ |");
	/* the second pair of an instance is of BAR1 */
	if (mig_instance(before, device))
		return true;
	if (!mig_instance(line, device) && frag_is_digit(*from))
		frag_snprintf(device, sizeof(device), "%.*s", (int)strspn(from, "0123456789"), from);
	account_note_device(a, device, A(USED), used);
	account_note_device(a, device, A(TOTAL), total);
	return true;
}
