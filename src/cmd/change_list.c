/* change_list.c - changes of a program, as the options of a command line say them. */
#include "cmd/change_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "base/parse.h"
#include "cmd/command.h"
#include "explain/class_survey.h"

#define DIGITS 18

/* Reads digits, with a point if `point` is set, as value / scale. Sets *end after them. */
static bool read_number(const char *text, bool point, uint64_t *value,
			uint64_t *scale, const char **end)
{
	uint32_t digits = 0;
	bool behind = false;

	*value = 0;
	*scale = 1;
	for (; frag_is_digit(*text) || (point && !behind && digits && *text == '.');
	     text++) {
		if (*text == '.') {
			behind = true;
			continue;
		}
		if (++digits > DIGITS)
			return false;
		*value = *value * 10 + (uint64_t)(*text - '0');
		*scale *= behind ? 10 : 1;
	}
	*end = text;
	return digits && text[-1] != '.';
}

/* The value of --scale and others: a decimal or a fraction, 0.5 or 1/3, above 0. */
static int read_factor(struct frag_program_change *c, const char *name, const char *value,
		       struct frag_error *err)
{
	const char *end;
	uint64_t one;
	bool good = read_number(value, true, &c->numerator, &c->denominator, &end);

	if (good && *end == '/' && c->denominator == 1)
		good = read_number(end + 1, false, &c->denominator, &one, &end);
	if (good && !*end && c->numerator && c->denominator)
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: a number above 0 is required, such as"
			 " 0.5, 2 or 1/3, of %d digits at most", name, value, DIGITS);
}

/* "1MiB,20MiB": each larger than the one before. */
static int read_limits(struct frag_program_change *c, const char *value, const char *text,
		       struct frag_error *err)
{
	for (;; text++) {
		const size_t length = strcspn(text, ",");
		uint64_t *limit = &c->limits[c->limit_count];

		if (c->limit_count == FRAG_CHANGE_LIMITS)
			return frag_fail(err, FRAG_EUSAGE, "--isolate %.60s: %d sizes are possible",
					 value, FRAG_CHANGE_LIMITS);
		if (!frag_parse_size(text, length, true, limit) || !*limit
		    || (c->limit_count && *limit <= limit[-1]))
			return frag_fail(err, FRAG_EUSAGE, "--isolate %.60s: sizes above 0 are"
					 " required, such as 1MiB, each larger than the one"
					 " before", value);
		c->limit_count++;
		text += length;
		if (!*text)
			return 0;
	}
}

/* The value of --isolate. */
static int read_isolation(struct frag_program_change *c, const char *value, struct frag_error *err)
{
	if (strcmp(value, "by=life") == 0) {
		c->by = FRAG_BY_LIFE;
		return 0;
	}
	if (strncmp(value, "by=tag", 6) == 0 && (!value[6] || (value[6] == ':' && value[7]))) {
		c->by = FRAG_BY_TAG;
		c->glob = value[6] ? value + 7 : NULL;
		return 0;
	}
	if (strncmp(value, "by=size:", 8) != 0)
		return frag_fail(err, FRAG_EUSAGE, "--isolate %.60s: by=life, by=tag, by=tag:GLOB or"
				 " by=size:SIZE is required", value);
	c->by = FRAG_BY_SIZE;
	return read_limits(c, value, value + 8, err);
}

/* The last change is called by this word too. */
static int add_word(struct frag_change_list *w, const char *dashes, const char *word,
		    struct frag_error *err)
{
	char **text = &w->texts[w->count - 1];
	const size_t old = *text ? strlen(*text) : 0;
	char *more = realloc(*text, old + 4 * strlen(word) + 8);

	if (!more)
		return frag_fail_nomem(err);
	w->list[w->count - 1].text = *text = more;
	frag_put_shell_word(stpcpy(stpcpy(more + old, old ? " " : ""), dashes), word);
	return 0;
}

static int add_words(struct frag_change_list *w, const char *name, const char *value,
		     struct frag_error *err)
{
	const int rc = add_word(w, "--", name, err);

	return rc || !value ? rc : add_word(w, "", value, err);
}

/* What --of calls classes of blocks, with those that it means. */
#define CLASS(name) (UINT32_C(1) << (1 + FRAG_LIFE_##name))
static const struct {
	const char *word;
	uint32_t classes;
} of_words[] = {
	{ "activations", CLASS(ACTIVATIONS) }, { "gradients", CLASS(GRADIENTS) },
	{ "optimizer", CLASS(OPTIMIZER) },     { "weights", CLASS(WEIGHTS) },
	{ "inputs", CLASS(INPUTS) },	       { "workspaces", CLASS(WORKSPACES) },
};
/* A batch changes these, and another data type these; neither changes workspaces. */
#define LIKE_ACTIVATIONS (UINT32_C(1) << (1 + FRAG_LIKE_ACTIVATIONS))
#define SUM_BUFFERS (UINT32_C(1) << (1 + FRAG_SUM_BUFFERS))
#define OF_BATCH \
	(CLASS(ACTIVATIONS) | CLASS(INPUTS) | CLASS(KV) | LIKE_ACTIVATIONS | SUM_BUFFERS)
#define OF_DTYPE                                                                               \
	(CLASS(ACTIVATIONS) | CLASS(GRADIENTS) | CLASS(OPTIMIZER) | CLASS(WEIGHTS) | CLASS(KV)  \
	 | CLASS(TEMPORARIES) | LIKE_ACTIVATIONS)

static bool can_narrow(const struct frag_program_change *c, enum frag_change_kind kind)
{
	return c->kind == FRAG_CHANGE_SCALE
	       || (kind == FRAG_CHANGE_OF && (c->kind == FRAG_CHANGE_SHARD
					      || c->kind == FRAG_CHANGE_DROP
					      || c->kind == FRAG_CHANGE_PARK));
}

/* A class, or a glob for tags. -FRAG_EUSAGE: the change has one already */
static int narrow_to(struct frag_program_change *c, const char *value, struct frag_error *err)
{
	uint32_t classes = 0;

	for (size_t i = 0; i < sizeof(of_words) / sizeof(of_words[0]); i++)
		if (strcmp(value, of_words[i].word) == 0)
			classes = of_words[i].classes;
	if (classes ? c->classes != 0 && c->classes != OF_DTYPE : c->glob != NULL)
		return frag_fail(err, FRAG_EUSAGE, "--of %.60s: %s has one already", value, c->text);
	if (classes)
		c->classes = classes;
	else
		c->glob = value;
	if (c->kind == FRAG_CHANGE_SHARD)
		c->life = FRAG_LIVES_ANY;
	return 0;
}

/* Narrows the change right before the option, which does so once. */
static int narrow(struct frag_change_list *w, enum frag_change_kind kind, const char *name,
		  const char *value, uint64_t number, struct frag_error *err)
{
	struct frag_program_change *c = w->count ? &w->list[w->count - 1] : NULL;
	int rc = 0;

	if (!c || !can_narrow(c, kind))
		return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: it is for a --scale%s right before it,"
				 " and %s is none", name, value, kind == FRAG_CHANGE_OF
				 ? ", --shard, --drop or --park" : "", c ? c->text : "there");
	if (kind == FRAG_CHANGE_OF)
		rc = narrow_to(c, value, err);
	else if (c->min_bytes)
		rc = frag_fail(err, FRAG_EUSAGE, "--%s %.60s: that --scale has one already", name,
			       value);
	else
		c->min_bytes = number;
	return rc ? rc : add_words(w, name, value, err);
}

/* Which value the change waits for; NULL: none. A mark or a setting is no empty word. */
static const char **missing_value(struct frag_program_change *c)
{
	if (c->kind == FRAG_CHANGE_SET && !c->setting)
		return &c->setting;
	if (c->kind != FRAG_CHANGE_PARK)
		return NULL;
	return !c->mark ? &c->mark : !c->until ? &c->until : NULL;
}

static int read_change(struct frag_program_change *c, const char *name, const char *value,
		       uint64_t number, struct frag_error *err)
{
	switch (c->kind) {
	case FRAG_CHANGE_SCALE:
		c->classes = strcmp(name, "scale-batch") == 0   ? OF_BATCH
			     : strcmp(name, "scale-dtype") == 0 ? OF_DTYPE : 0;
		return read_factor(c, name, value, err);
	case FRAG_CHANGE_ISOLATE:
		return read_isolation(c, value, err);
	case FRAG_CHANGE_SHARD:
		c->life = FRAG_LIVES_LONG;
		c->denominator = number;
		break;
	case FRAG_CHANGE_EMPTY_CACHE:
		c->mark = strcmp(value, "every-iteration") == 0 ? NULL : value;
		break;
	case FRAG_CHANGE_DROP:
	case FRAG_CHANGE_PARK:
		c->glob = value;
		break;
	case FRAG_CHANGE_WARMUP:
	case FRAG_CHANGE_SET:
		c->mark = value;
		break;
	case FRAG_CHANGE_SPLIT:
	case FRAG_CHANGE_PREALLOCATE:
	case FRAG_CHANGE_PRIME_POOL:
		c->bytes = number;
		break;
	case FRAG_CHANGE_HOIST:
	case FRAG_CHANGE_KINDS:
	case FRAG_CHANGE_OF:
	case FRAG_CHANGE_MIN_BYTES:
		break;
	}
	return 0;
}

/*
 * Adds what the option `name` with this value says: a change, the next value of the last change, or
 * what narrows it. value NULL: there is none. number: of a kind whose value is a size or a count.
 */
static int list_change(struct frag_change_list *w, enum frag_change_kind kind, const char *name,
		       const char *value, uint64_t number, struct frag_error *err)
{
	struct frag_program_change *last = w->count ? &w->list[w->count - 1] : NULL;
	struct frag_program_change c = { .kind = kind, .numerator = 1, .denominator = 1 };
	const char **missing = last && last->kind == kind ? missing_value(last) : NULL;
	int rc;

	if (kind > FRAG_CHANGE_KINDS)
		return narrow(w, kind, name, value, number, err);
	if (missing) {
		*missing = value;
		return add_word(w, "", value, err);
	}
	rc = read_change(&c, name, value, number, err);
	if (!rc && (!FRAG_GROW(w->list, w->capacity, w->count)
		    || !FRAG_GROW(w->texts, w->text_capacity, w->count)))
		rc = frag_fail_nomem(err);
	if (rc)
		return rc;
	w->texts[w->count] = NULL;
	w->list[w->count++] = c;
	return add_words(w, name, value, err);
}

int frag_change_list_add(void *at, const struct frag_opt *o, const char *value,
			 struct frag_error *err)
{
	const struct frag_opt size = { .name = o->name, .kind = FRAG_OPT_SIZE, .min = 1 };
	uint64_t number = 0;
	int rc = 0;

	if (o->arg && strcmp(o->arg, "SIZE") == 0)
		rc = frag_option_set(&number, &size, value, err);
	else if (o->max)
		rc = frag_option_count(&number, o->name, value, 1, o->max, err);
	return rc ? rc : list_change(at, (enum frag_change_kind)o->min, o->name, value, number, err);
}

/* Does a change happen where an iteration begins? */
bool frag_change_list_has_iterations(const struct frag_change_list *changes)
{
	for (uint32_t i = 0; i < changes->count; i++)
		if (changes->list[i].kind == FRAG_CHANGE_EMPTY_CACHE && !changes->list[i].mark)
			return true;
	return false;
}

bool frag_change_list_has(const struct frag_change_list *changes, enum frag_change_kind kind)
{
	for (uint32_t i = 0; i < changes->count; i++)
		if (changes->list[i].kind == kind)
			return true;
	return false;
}

bool frag_change_list_has_classes(const struct frag_change_list *changes)
{
	for (uint32_t i = 0; i < changes->count; i++)
		if (changes->list[i].classes)
			return true;
	return false;
}

int frag_change_list_check(const struct frag_change_list *changes, struct frag_error *err)
{
	struct frag_choice choice;
	int rc = 0;

	for (uint32_t i = 0; i < changes->count && !rc; i++) {
		/* a later change could resize its blocks, whose best size is searched for */
		if (changes->list[i].kind == FRAG_CHANGE_PRIME_POOL && i + 1 < changes->count)
			return frag_fail(err, FRAG_EUSAGE, "%s: it must be the last change",
					 changes->texts[i]);
		if (changes->list[i].kind != FRAG_CHANGE_SET)
			continue;
		rc = frag_choice_parse(&choice, "pytorch", err);
		rc = rc ? rc : frag_choice_settings(&choice, changes->list[i].setting, err);
	}
	return rc;
}

void frag_change_list_fini(struct frag_change_list *changes)
{
	for (uint32_t i = 0; i < changes->count; i++)
		free(changes->texts[i]);
	free(changes->texts);
	free(changes->list);
}
