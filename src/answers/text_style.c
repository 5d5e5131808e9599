/* text_style.c - text for people, in lines that fit the terminal. */
#include "answers/text_style.h"

#include "device/known_cards.h"
#include "policy/choice.h"

#define ROW_ROOM 4096
#define WRAPPED_MIN 30          /* columns; in fewer it is not worth it */

void frag_put_wrapped(const struct frag_text_style *to, const char *head, const char *text)
{
	const int indent = (int)strlen(head);
	const size_t room = to->columns > WRAPPED_MIN ? (size_t)(to->columns - indent) : SIZE_MAX;

	while (*text) {
		const size_t n = frag_wrap(text, room);

		fprintf(to->f, "%*s%.*s\n", indent, head, (int)n, text);
		text += n;
		text += strspn(text, " ");
		head = "";
	}
}

void frag_put_first_line(const struct frag_text_style *to, enum frag_color_code which,
			 const char *head, const char *format, ...)
{
	char text[ROW_ROOM];
	va_list args;

	va_start(args, format);
	frag_vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fputs(frag_ink(to, which), to->f);
	frag_put_wrapped(to, head, text);
	fputs(frag_ink(to, INK_PLAIN), to->f);
}

void frag_put_row(const struct frag_text_style *to, const char *label, const char *format, ...)
{
	char head[32], text[ROW_ROOM];
	va_list args;

	va_start(args, format);
	frag_vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(head, sizeof(head), "  %-10s", label);
	frag_put_wrapped(to, head, text);
}

void frag_put_evidence(const struct frag_text_style *to, const struct frag_choice *choice,
		       const char *more)
{
	char text[FRAG_EVIDENCE_ROOM];

	frag_put_row(to, "evidence", "%s%s%s", frag_evidence_text(choice, NULL, text),
		     *more ? "; " : "", more);
}

void frag_put_setting(const struct frag_text_style *to, const struct frag_choice *choice,
		      const char *conf, const char *note)
{
	const char *variable = frag_device_words(choice->accelerator)->variable;
	const size_t columns = 12 + strlen(variable) + 1 + strlen(conf) + strlen(note);
	const bool below = to->columns > 0 && columns > (size_t)to->columns && *note;

	fprintf(to->f, "  %-10s%s%s=%s%s%s%s\n", "set", frag_ink(to, INK_BOLD), variable, conf,
		frag_ink(to, INK_PLAIN), below ? "\n           " : "", note);
}

void frag_put_name(const char *name, int width, int indent, FILE *f)
{
	name = SHOWN(name);
	if (strlen(name) > (size_t)width)
		fprintf(f, "%s\n%*s", name, indent + width, "");
	else
		fprintf(f, "%-*s", width, name);
}

int frag_name_column(size_t longest, size_t min, size_t others, int columns)
{
	const size_t all = columns > 0 ? (size_t)columns : 0;
	const size_t left = all > others + min ? all - others : min;
	const size_t width = longest > min ? longest : min;

	return (int)(all && width > left ? left : width);
}

const char *frag_owner_text(const char *tag, const char *frames, uint64_t size,
			    char buf[FRAG_OWNER_ROOM])
{
	const char *text = tag ? tag + 1 : frames;
	const size_t length = !text ? 0 : tag ? strlen(text) - 1 : strcspn(text, "\n");
	const bool whole = length < FRAG_OWNER_ROOM;

	if (!text)
		snprintf(buf, FRAG_OWNER_ROOM, "blocks of %s without a tag", SIZE(size));
	else
		snprintf(buf, FRAG_OWNER_ROOM, "%.*s%s", whole ? (int)length : FRAG_OWNER_ROOM - 4,
			 text, whole ? "" : "...");
	return buf;
}

void frag_put_capacity(uint64_t bytes, FILE *f)
{
	fprintf(f, "  %11s", bytes == UINT64_MAX ? "-" : CAPACITY(bytes));
}

void frag_put_context(const struct frag_text_style *to, uint64_t total, uint64_t context, bool fits)
{
	char basis[FRAG_BASIS_ROOM];

	if (frag_context_basis(total, context, basis))
		frag_put_row(to, "context", "%s: %s; --context-bytes SIZE replaces it",
			     SIZE(context), basis);
	else if (fits && total && !context)
		frag_put_row(to, "context", "not counted; --context-bytes SIZE adds that of CUDA");
}

const char *frag_setting_words(const struct frag_choice *choice)
{
	const char *label = frag_choice_label(choice);

	return strcmp(label, "default") == 0 ? "the default settings" : label;
}

void frag_put_stopped(const struct frag_text_style *to, bool time_up)
{
	frag_put_row(to, "stopped", "%s: the answer covers only the simulations until then",
		     time_up ? "the time was up (--time)" : "interrupted");
}

static __attribute__((format(printf, 2, 0))) void add(struct frag_words *w, const char *format,
						      va_list args)
{
	const int n = frag_vsnprintf(w->text + w->used, w->size - w->used, format, args);

	if (n > 0)
		w->used += (size_t)n < w->size - w->used ? (size_t)n : w->size - w->used - 1;
}

void frag_add(struct frag_words *words, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(words, format, args);
	va_end(args);
}

void frag_add_item(struct frag_words *words, const char *between, const char *format, ...)
{
	va_list args;

	if (words->used)
		frag_add(words, "%s", between);
	va_start(args, format);
	add(words, format, args);
	va_end(args);
}

const char *frag_mark_place(const char *inside, const char *json, char buf[FRAG_MARK_ROOM])
{
	static const char *const stages[] = { " (end)\"", " (start)\"" };
	const size_t length = strlen(json);
	char name[FRAG_SHORT_NAME];

	for (int i = 0; i < 2; i++) {
		const size_t stage = strlen(stages[i]);

		/* a name that is nothing but the stage stays */
		if (length <= stage + 1 || strcmp(json + length - stage, stages[i]) != 0)
			continue;
		if (length - stage + 1 < sizeof(name))
			snprintf(name, sizeof(name), "%.*s\"", (int)(length - stage), json);
		else
			frag_short_name(json, name);
		snprintf(buf, FRAG_MARK_ROOM, "%s%s", i ? inside : "after ", name);
		return buf;
	}
	snprintf(buf, FRAG_MARK_ROOM, "%s%s", inside, frag_short_name(json, name));
	return buf;
}
