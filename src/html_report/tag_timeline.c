/* tag_timeline.c - live bytes by tag and stack, step by step. */
#include "html_report/tag_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

static uint32_t new_tag(struct frag_tag_timeline *w, struct frag_text text, uint64_t hash)
{
	struct frag_who_tag *tag;

	if (!frag_grow(&w->tags, &w->tag_capacity, (uint64_t)w->tag_count + 1, sizeof(*w->tags)))
		return UINT32_MAX;
	tag = &w->tags[w->tag_count];
	*tag = (struct frag_who_tag){ .hash = hash, .whole = text.length };
	tag->length = text.length < FRAG_TAG_TEXT ? text.length : FRAG_TAG_TEXT;
	/* never in the middle of a character */
	while (tag->length < text.length && tag->length
	       && ((unsigned char)text.text[tag->length] & 0xc0) == 0x80)
		tag->length--;
	if (text.text) {
		tag->text = malloc((size_t)tag->length + 1);
		if (!tag->text)
			return UINT32_MAX;
		memcpy(tag->text, text.text, tag->length);
	}
	return w->tag_count++;
}

bool frag_who_init(struct frag_tag_timeline *w, const struct frag_symbols *symbols,
		   uint32_t devices)
{
	const struct frag_text none = { .text = NULL };

	w->symbols = symbols;
	w->seed = frag_hash_seed();
	w->device_count = devices;
	w->sums = calloc(devices, sizeof(*w->sums));
	w->sum_capacities = calloc(devices, sizeof(*w->sum_capacities));
	w->peaks = calloc(devices, sizeof(*w->peaks));
	return w->sums && w->sum_capacities && w->peaks && frag_map_init(&w->by_text, w->seed)
	       && frag_map_init(&w->by_both, w->seed) && new_tag(w, none, 0) == FRAG_TAG_NONE
	       && new_tag(w, none, 0) == FRAG_TAG_OTHERS;
}

void frag_who_fini(struct frag_tag_timeline *w)
{
	for (uint32_t i = 0; i < w->tag_count; i++)
		free(w->tags[i].text);
	for (uint32_t i = 0; w->sums && i < w->device_count; i++)
		free(w->sums[i]);
	free(w->tags);
	free(w->by_number);
	free(w->shares);
	free(w->plain);
	free(w->sums);
	free(w->sum_capacities);
	free(w->peaks);
	frag_map_fini(&w->by_text);
	frag_map_fini(&w->by_both);
}

static bool is_text(const struct frag_who_tag *tag, struct frag_text text)
{
	return tag->whole == text.length && tag->text
	       && memcmp(tag->text, text.text, tag->length) == 0;
}

/* Found by its text. Hashes distinguish long texts with the same beginning. */
static uint32_t tag_of_text(struct frag_tag_timeline *w, struct frag_text text)
{
	uint64_t hash;
	uint32_t at, i;

	if (!text.text)
		return FRAG_TAG_NONE;
	hash = frag_hash_text(text.text, text.length, w->seed);
	at = frag_map_home(&w->by_text, hash);
	while ((i = frag_map_next(&w->by_text, hash, &at)) != FRAG_MAP_NONE)
		if (is_text(&w->tags[i], text))
			return i;
	if (w->tag_count >= FRAG_TAGS_MAX)
		return FRAG_TAG_OTHERS;
	i = new_tag(w, text, hash);
	return i != UINT32_MAX && frag_map_add(&w->by_text, hash, i) ? i : UINT32_MAX;
}

/* The text must be compared where no live block has the number. */
static uint32_t tag_timeline_tag_of(struct frag_tag_timeline *w, uint32_t number)
{
	uint32_t known = number < w->number_count ? w->by_number[number] : 0;
	struct frag_text text;

	if (known > FRAG_TAG_OTHERS + 1 && w->tags[known - 1].live
	    && w->tags[known - 1].number == number)
		return known - 1;
	text = frag_symbols_tag(w->symbols, number);
	if (known > FRAG_TAG_OTHERS + 1 && w->tags[known - 1].number == number
	    && text.length <= FRAG_TAG_TEXT && is_text(&w->tags[known - 1], text))
		return known - 1;
	if (!frag_grow(&w->by_number, &w->number_capacity, (uint64_t)number + 1,
		       sizeof(*w->by_number)))
		return UINT32_MAX;
	while (w->number_count <= number)
		w->by_number[w->number_count++] = 0;
	known = tag_of_text(w, text);
	w->by_number[number] = known + 1;
	if (known != UINT32_MAX)
		w->tags[known].number = number;
	return known;
}

static uint32_t tag_timeline_new_share(struct frag_tag_timeline *w, uint32_t tag, uint32_t stack)
{
	if (!frag_grow(&w->shares, &w->share_capacity, (uint64_t)w->share_count + 1,
		       sizeof(*w->shares)))
		return UINT32_MAX;
	w->shares[w->share_count] = (struct frag_who_share){ tag, stack };
	return w->share_count++;
}

static uint32_t plain_share(struct frag_tag_timeline *w, uint32_t tag)
{
	if (tag < w->plain_count && w->plain[tag])
		return w->plain[tag] - 1;
	if (!frag_grow(&w->plain, &w->plain_capacity, (uint64_t)tag + 1, sizeof(*w->plain)))
		return UINT32_MAX;
	while (w->plain_count <= tag)
		w->plain[w->plain_count++] = 0;
	w->plain[tag] = tag_timeline_new_share(w, tag, 0) + 1;
	return w->plain[tag] - 1;
}

static uint32_t tag_timeline_share_of(struct frag_tag_timeline *w, uint32_t tag, uint32_t stack)
{
	const uint64_t key = (uint64_t)tag << 32 | stack;
	uint32_t share = stack ? frag_map_get(&w->by_both, key) : FRAG_MAP_NONE;

	if (share != FRAG_MAP_NONE)
		return share;
	if (!stack || w->share_count >= FRAG_SHARES_MAX)
		return plain_share(w, tag);
	share = tag_timeline_new_share(w, tag, stack);
	return share != UINT32_MAX && frag_map_add(&w->by_both, key, share) ? share : UINT32_MAX;
}

static bool make_sums(struct frag_tag_timeline *w, uint32_t device, uint32_t share)
{
	const uint32_t before = w->sum_capacities[device];

	if (share < before)
		return true;
	if (!frag_grow(&w->sums[device], &w->sum_capacities[device], (uint64_t)share + 1,
		       sizeof(**w->sums)))
		return false;
	memset(&w->sums[device][before], 0,
	       (w->sum_capacities[device] - before) * sizeof(**w->sums));
	return true;
}

uint32_t frag_who_look_up(struct frag_tag_timeline *w, uint32_t tag, uint32_t stack)
{
	const uint32_t known = tag ? tag_timeline_tag_of(w, tag) : FRAG_TAG_NONE;
	const uint32_t share = known == UINT32_MAX ? known : tag_timeline_share_of(w, known, stack);

	if (share != UINT32_MAX)
		w->tags[known].live++;
	return share;
}

bool frag_tag_timeline_free_peak_block(struct frag_tag_timeline *w, uint32_t share, uint32_t device,
				       uint64_t bytes)
{
	struct frag_who_sum *sum;

	if (!make_sums(w, device, share))
		return false;
	sum = &w->sums[device][share];
	if (sum->peak != w->peaks[device])
		*sum = (struct frag_who_sum){ .peak = w->peaks[device] };
	sum->bytes += bytes;
	sum->blocks++;
	return true;
}

void frag_who_add_dead(const struct frag_tag_timeline *w, uint32_t device,
		       struct frag_page_share *held)
{
	for (uint32_t i = 0; i < w->share_count && i < w->sum_capacities[device]; i++)
		if (w->sums[device][i].peak == w->peaks[device]) {
			held[i].bytes += w->sums[device][i].bytes;
			held[i].blocks += w->sums[device][i].blocks;
		}
}

static int tag_timeline_by_bytes(const void *a, const void *b)
{
	const struct frag_page_share *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->share < y->share ? -1 : x->share > y->share;
}

uint32_t frag_who_largest(struct frag_page_share *held, uint32_t count, struct frag_page_share *out,
			  uint32_t max, uint64_t *rest_bytes, uint64_t *rest_blocks)
{
	uint32_t there = 0;

	for (uint32_t i = 0; i < count; i++)
		if (held[i].blocks)
			held[there++] =
				(struct frag_page_share){ i, held[i].bytes, held[i].blocks };
	qsort(held, there, sizeof(*held), tag_timeline_by_bytes);
	*rest_bytes = *rest_blocks = 0;
	for (uint32_t i = max; i < there; i++) {
		*rest_bytes += held[i].bytes;
		*rest_blocks += held[i].blocks;
	}
	there = there < max ? there : max;
	memcpy(out, held, there * sizeof(*held));
	return there;
}
