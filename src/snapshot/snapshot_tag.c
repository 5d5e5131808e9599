/*
 * snapshot_tag.c - describes a stack trace, in one line and in full; and whose code a frame is in,
 * and which part of the program it implies (fragsim-formats(5), fragsim-explain(1)).
 */
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"
#include "snapshot/frame_purpose.h"

#define FRAME_MAX 240           /* bytes of one frame's text, and of a note */
#define STACK_MEMORY 64         /* bytes that one frame of a table may take */

_Static_assert(4 * FRAME_MAX + 64 <= FRAG_TAG_ROOM, "a tag is long enough");

static bool frames_begins(struct frag_text text, const char *with)
{
	const size_t n = strlen(with);

	return text.length >= n && memcmp(text.text, with, n) == 0;
}

static bool is_python(struct frag_text file, uint64_t line)
{
	if (!file.text || line == 0)
		return false;
	return (file.length > 3 && memcmp(file.text + file.length - 3, ".py", 3) == 0)
	       || (frames_begins(file, "<") && !frames_begins(file, "<frozen")
		   && !frames_begins(file, "<eval_with_key"));
}

static bool is_one_of(struct frag_text folder, const char *const *names)
{
	return names[frag_text_among(folder, names)] != NULL;
}

/*
 * By the folders of its path: one of PyTorch decides, wherever it is. Python's own modules
 * are in lib/python3.12, or where its path was cut in python3.12; packages in a folder below.
 */
enum frag_origin frag_frame_origin(struct frag_text file, uint64_t line)
{
	static const char *const torch[] = { "torch", "functorch", "torchgen", "triton", NULL };
	static const char *const packages[] = { "site-packages", "dist-packages", NULL };
	static const char *const libraries[] = { "lib", "lib64", NULL };
	enum frag_origin origin = FRAG_ORIGIN_PROGRAM;
	struct frag_text folder = { .text = NULL };
	const char *p = file.text, *slash;

	if (!is_python(file, line))
		return FRAG_ORIGIN_NATIVE;
	while ((slash = memchr(p, '/', (size_t)(file.text + file.length - p))) != NULL) {
		const struct frag_text above = folder;

		folder = (struct frag_text){ .text = p, .length = (uint32_t)(slash - p) };
		if (is_one_of(folder, torch))
			return FRAG_ORIGIN_TORCH;
		if (is_one_of(folder, packages))
			origin = FRAG_ORIGIN_PACKAGE;
		else if (origin == FRAG_ORIGIN_PROGRAM && frames_begins(folder, "python3")
			 && (!above.text || is_one_of(above, libraries)))
			origin = FRAG_ORIGIN_PYTHON;
		p = slash + 1;
	}
	folder = (struct frag_text){ p, (uint32_t)(file.text + file.length - p) };
	if (frag_text_equals(folder, "record_torch.py"))
		origin = FRAG_ORIGIN_PYTHON;
	return origin;
}

static bool frames_ends(struct frag_text text, const char *with)
{
	const size_t n = strlen(with);

	return text.length >= n && memcmp(text.text + text.length - n, with, n) == 0;
}

/* Python functions of any file that construct, move or load modules; */
static const char *const setup_names[] = {
	"_apply", "reset_parameters", "initialize_parameters", "_init_weights", "to_empty",
	"__deepcopy__", "deepcopy", "from_pretrained", "_load_from_state_dict", NULL,
};
/* that run the engine of autograd, or are run by it; */
static const char *const backward_names[] = {
	"backward", "_make_grads", "_engine_run_backward", NULL,
};
/* and that call a module. */
static const char *const forward_names[] = {
	"forward", "_call_impl", "_wrapped_call_impl", NULL,
};

/* After the last slash, except one at the end. */
static struct frag_text file_name(struct frag_text path)
{
	uint32_t at = path.length ? path.length - 1 : 0;

	while (at && path.text[at - 1] != '/')
		at--;
	return (struct frag_text){ .text = path.text ? path.text + at : "",
				   .length = path.length - at };
}

static bool is_optimizer_file(struct frag_text file)
{
	return frag_text_find(file, "/optim/")
	       || (frag_text_find(file_name(file), "optimizer") && !frames_ends(file, "/"));
}

/* Behind what a bracket at `at` closes; the end, where nothing does. */
static const char *skip_brackets(const char *at, const char *end)
{
	uint32_t depth = 0;

	for (; at < end; at++) {
		if (*at == '(' || *at == '<' || *at == '[' || *at == '{')
			depth++;
		else if ((*at == ')' || *at == ']' || *at == '}' || (*at == '>' && at[-1] != '-'))
			 && !--depth)
			return at + 1;
	}
	return end;
}

/*
 * The next part of a C++ name: "torch", "autograd", "generated", "MmBackward0" and "apply" of
 * "torch::autograd::generated::MmBackward0::apply(...)". Templates and parameters are omitted, as are
 * namespaces without names and lambdas, whose length is 0. False: there is none.
 */
static bool next_part(const char **next, const char *end, struct frag_text *part)
{
	const char *at = *next, *begin = at;
	const bool unnamed = at < end && (*at == '(' || *at == '{');
	bool is_operator;

	if (at >= end)
		return false;
	at = unnamed ? skip_brackets(at, end) : at;
	while (!unnamed && at < end && !strchr("(<[{ ", *at)
	       && (end - at < 2 || memcmp(at, "::", 2) != 0))
		at++;
	is_operator = at - begin == 8 && memcmp(begin, "operator", 8) == 0;
	if (is_operator && at < end && *at == ' ')      /* "operator bool()" */
		while (at < end && *at != '(')
			at++;
	else if (is_operator)                           /* "operator()", "operator<<" */
		at = end - at > 1 ? at + 2 : end;
	*part = (struct frag_text){ begin, unnamed ? 0 : (uint32_t)(at - begin) };
	if (at < end && *at == '<')
		at = skip_brackets(at, end);
	/* a lambda is in a function with parameters: "f(int)::{lambda()#1}::operator()" */
	while (at < end && (*at == '(' || *at == '['))
		at = skip_brackets(at, end);
	*next = end - at >= 2 && memcmp(at, "::", 2) == 0 ? at + 2 : end;
	return true;
}

/* Does what may be behind the parameters of a function begin here? */
static bool is_behind(const char *at, const char *end)
{
	static const char *const words[] = { " const", " volatile", " &", " [", " noexcept", NULL };

	for (uint32_t i = 0; words[i]; i++)
		if ((size_t)(end - at) >= strlen(words[i])
		    && memcmp(at, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* "f(...)" of "void f(...)" and of "std::tuple<int, long> f(...)": the type of the result is before it. */
static struct frag_text without_result(struct frag_text name)
{
	const char *end = name.text + name.length, *at = name.text;

	while (at < end && !is_behind(at, end)) {
		if (*at == '(' || *at == '{' || *at == '<' || *at == '[')
			at = skip_brackets(at, end);
		else if (end - at >= 8 && memcmp(at, "operator", 8) == 0)
			break;
		else
			at++;
		if (at < end && *at == ' ' && !is_behind(at, end)) {
			name.length -= (uint32_t)(at + 1 - name.text);
			name.text = ++at;
		}
	}
	return name;
}

/* The class and the function of a C++ name: its last parts with names. length 0: there is none. */
static void cut_function(struct frag_text name, struct frag_text *scope, struct frag_text *function)
{
	const struct frag_text bare = without_result(name);
	const char *at = bare.text;
	struct frag_text part;

	*scope = *function = (struct frag_text){ .text = name.text };
	while (next_part(&at, bare.text + bare.length, &part)) {
		if (!part.length)
			continue;
		*scope = *function;
		*function = part;
	}
}

/* "at::native::gpu_reduce_kernel" of "void at::native::gpu_reduce_kernel<float>(...)"; as others are. */
static size_t write_native(char *to, struct frag_text name)
{
	const struct frag_text bare = without_result(name);
	const char *at = bare.text;
	struct frag_text part;
	size_t used = 0;

	while (next_part(&at, bare.text + bare.length, &part)) {
		const size_t colons = used && part.length ? 2 : 0;

		if (used + colons + part.length > FRAME_MAX)
			break;
		memcpy(to + used, "::", colons);
		memcpy(to + used + colons, part.text, part.length);
		used += colons + part.length;
	}
	return used;
}

/*
 * "MmBackward0" of "torch::autograd::generated::MmBackward0::apply(...)", else the function:
 * "div_tensor_self_backward" of "torch::autograd::generated::details::div_...(...)". length 0: it
 * is none of autograd's.
 */
static struct frag_text autograd_node(struct frag_text name)
{
	static const char before[] = "torch::autograd::generated::";
	const char *at = frag_text_find(name, before);
	struct frag_text scope, function;

	if (!at)
		return (struct frag_text){ .text = "" };
	at += strlen(before);
	name.length -= (uint32_t)(at - name.text);
	name.text = at;
	cut_function(name, &scope, &function);
	return scope.length && (frag_text_equals(function, "apply")
				|| frag_text_equals(function, "operator()")) ? scope : function;
}

/* Does a library allocate memory for its kernels here: cuBLAS, cuDNN, reductions? */
static bool is_workspace(struct frag_text name)
{
	static const char *const parts[] = {
		"getNewWorkspace", "getCUDABlasLtWorkspace", "getNewCUDABlasLtWorkspace",
		"allocateCUBLASLtWorkspace", "at::native::Workspace::Workspace", "gpu_reduce_kernel", NULL,
	};

	for (uint32_t i = 0; parts[i]; i++)
		if (frag_text_find(name, parts[i]))
			return true;
	return false;
}

/*
 * The part of the program that a single frame implies: SETUP, FORWARD, BACKWARD, OPTIMIZER;
 * UNKNOWN leaves the decision to its caller. The most specific rules come first.
 */
static enum frag_maker maker_of_frame(const struct frag_frame *f, enum frag_origin origin)
{
	const struct frag_text none = { .text = "", .length = 0 };
	const struct frag_text name = f->name.text ? f->name : none;
	const bool modules = f->file.text && frag_text_find(f->file, "/nn/modules/");

	if (!is_python(f->file, f->line))
		return frag_text_find(name, "torch::autograd::Engine")
		       || frag_text_find(name, "python::PythonEngine")
		       || autograd_node(name).length
			? FRAG_MAKER_BACKWARD : FRAG_MAKER_UNKNOWN;
	if (is_one_of(name, setup_names) || (modules && frames_ends(name, "__init__"))
	    || frag_frame_shards(f, origin))
		return FRAG_MAKER_SETUP;
	if (frames_ends(name, "load_state_dict"))
		return is_optimizer_file(f->file) ? FRAG_MAKER_OPTIMIZER : FRAG_MAKER_SETUP;
	if (is_optimizer_file(f->file))
		return frames_ends(name, "zero_grad") ? FRAG_MAKER_UNKNOWN : FRAG_MAKER_OPTIMIZER;
	if (is_one_of(name, backward_names))
		return FRAG_MAKER_BACKWARD;
	/* module.py moves and loads modules, too, by functions without a name */
	if (is_one_of(name, forward_names) || frames_ends(f->file, "/nn/functional.py")
	    || (modules && !frames_ends(f->file, "/module.py")))
		return FRAG_MAKER_FORWARD;
	/* recomputation in checkpointing: the inner forward frames decide */
	if (frames_ends(f->file, "/utils/checkpoint.py")
	    && (frames_ends(name, "unpack_hook") || frames_ends(name, "recompute_fn")))
		return FRAG_MAKER_RECOMPUTE;
	return FRAG_MAKER_UNKNOWN;
}

/* Does a frame of native code only unwind, allocate or dispatch? */
static bool is_plumbing(struct frag_text name)
{
	static const char *const parts[] = {
		"torch::unwind", "CapturedTraceback", "gather_with", "CachingAllocator",
		"StorageImpl", "Dispatcher", "redispatch", "callUnboxed", "wrap_kernel_functor",
		"raw_alloc", "detail::empty", "empty_generic", "empty_cuda", "empty_strided",
		"empty_memory_format", "empty_like", "_empty_affine", "malloc", "pthread", "clone3",
		"execute_native_thread_routine", "__libc", "TensorMaker", "resize_bytes", NULL,
	};

	if (!name.length || frames_begins(name, "??") || frames_begins(name, "_start")
	    || frames_begins(name, "clone"))
		return true;
	for (uint32_t i = 0; parts[i]; i++)
		if (frag_text_find(name, parts[i]))
			return true;
	return false;
}

static struct frag_text text_of(const struct frag_value *text)
{
	return frag_is(text, FRAG_STRING)
		       ? (struct frag_text){ .text = text->as.text, .length = text->length }
		       : (struct frag_text){ .text = NULL };
}

/*
 * "file:line:function", as torch_npu and some viewers write a frame: the line is the first number
 * between two colons. Without one, all of the text is the function.
 */
static struct frag_frame parse_frame(struct frag_text text)
{
	for (uint32_t i = 0; i < text.length; i++) {
		uint32_t end = i + 1;
		uint64_t line = 0;

		if (text.text[i] != ':')
			continue;
		while (end < text.length && frag_is_digit(text.text[end]) && line < UINT32_MAX)
			line = line * 10 + (uint64_t)(text.text[end++] - '0');
		if (end > i + 1 && end < text.length && text.text[end] == ':')
			return (struct frag_frame){
				.file = { .text = text.text, .length = i },
				.name = { .text = text.text + end + 1,
					  .length = text.length - end - 1 },
				.line = line,
			};
	}
	return (struct frag_frame){ .name = text };
}

static struct frag_frame frame_at(struct frag_snapshot *s, const struct frag_value *list,
				  uint32_t i)
{
	static const char *const names[] = { "filename", "name", "line" };
	const struct frag_value *frame = frag_list_at(&s->values, list, i), *member[3];
	struct frag_frame f;

	if (frag_is(frame, FRAG_STRING))
		return parse_frame(text_of(frame));
	s->frame_layouts.names = names;
	s->frame_layouts.count = 3;
	frag_dict_members(&s->values, frame, &s->frame_layouts, member);
	f = (struct frag_frame){ .file = text_of(member[0]),
				 .name = text_of(member[1]) };
	if (!frag_value_u64(member[2], &f.line))
		f.line = 0;
	return f;
}

bool frag_snapshot_frame(const struct frag_snapshot *s, uint32_t frames, uint32_t i, struct frag_frame *frame)
{
	const struct frag_value *list = frames ? &s->values.table[frames - 1] : NULL;
	const struct frag_value *dict = frag_list_at(&s->values, list, i);

	if (!dict)
		return false;
	if (frag_is(dict, FRAG_STRING)) {
		*frame = parse_frame(text_of(dict));
		return true;
	}
	*frame = (struct frag_frame){ .file = text_of(frag_dict_get(&s->values, dict, "filename")),
				      .name = text_of(frag_dict_get(&s->values, dict, "name")) };
	if (!frag_value_u64(frag_dict_get(&s->values, dict, "line"), &frame->line))
		frame->line = 0;
	return true;
}

/* "model.py:42 forward", cut to FRAME_MAX. */
static size_t write_frame(char *to, const struct frag_frame *f)
{
	const struct frag_text file = file_name(f->file);
	size_t length, used = 0;

	if (f->line) {
		used = frag_text_cut(file.text, file.length, FRAME_MAX / 2);
		memcpy(to, file.text, used);
		to[used++] = ':';
		used = (size_t)(frag_put_u64(to + used, f->line) - to);
		to[used++] = ' ';
	}
	length = frag_text_cut(f->name.text, f->name.length, FRAME_MAX - used);
	if (length)
		memcpy(to + used, f->name.text, length);
	return used + length;
}

/* The name of the stack. */
struct top {
	struct frag_frame frame;     /* the innermost of the program; of packages; ... */
	struct frag_text workspace;  /* a native frame below it that allocates for kernels; or none */
	struct frag_frame callee;    /* the innermost of a package that the program's called; or none */
};

#define FRAME_IS_WORKSPACE 0x80 /* of the maker of a frame */
#define FRAME_IS_PART 0x10      /* of its purpose: a comprehension or lambda of the next frame */

/* The line of a frame tells native code from Python, no more. */
static void judge_frame(const struct frag_frame *f, struct frag_frame_kind *out)
{
	const enum frag_origin origin = frag_frame_origin(f->file, f->line);

	*out = (struct frag_frame_kind){
		.file = f->file, .name = f->name, .has_line = f->line, .known = true,
		.origin = (uint8_t)origin, .maker = (uint8_t)maker_of_frame(f, origin),
		.purpose = frag_frame_purpose(f, origin),
	};
	if (f->name.length && f->name.text[0] == '<' && !frag_text_equals(f->name, "<module>"))
		out->purpose |= FRAME_IS_PART;
	if (origin == FRAG_ORIGIN_NATIVE && is_workspace(f->name))
		out->maker |= FRAME_IS_WORKSPACE;
}

/*
 * What the names of frame i imply. Stacks have thousands of lines of the same functions, and equal
 * text of a pickle is in one place, so names are compared by their places.
 */
static struct frag_frame_kind kind_at(struct frag_snapshot *s, const struct frag_value *list,
				      uint32_t i)
{
	const struct frag_frame f = frame_at(s, list, i);
	const uint64_t key = frag_hash_mix((uintptr_t)f.file.text * 31 + (uintptr_t)f.name.text
					   + f.name.length);
	struct frag_frame_kind *kind = &s->frame_kinds[key % FRAG_FRAME_KINDS];

	if (!kind->known || kind->file.text != f.file.text || kind->name.text != f.name.text
	    || kind->file.length != f.file.length || kind->name.length != f.name.length
	    || kind->has_line != (f.line > 0))
		judge_frame(&f, kind);
	return *kind;
}

/*
 * Of native frames alone: the node of autograd, or the first that does more than allocate. Their
 * lines are offsets in a library.
 */
static struct frag_frame find_native(struct frag_snapshot *s, const struct frag_value *list,
				     uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (is_workspace(frame_at(s, list, i).name))
			return (struct frag_frame){ .name = frame_at(s, list, i).name };
	for (uint32_t i = 0; i < count; i++)
		if (autograd_node(frame_at(s, list, i).name).length)
			return (struct frag_frame){ .name = frame_at(s, list, i).name };
	for (uint32_t i = 0; i < count; i++)
		if (!is_plumbing(frame_at(s, list, i).name))
			return (struct frag_frame){ .name = frame_at(s, list, i).name };
	return (struct frag_frame){ .line = 0 };
}

static struct top find_top(struct frag_snapshot *s, const struct frag_value *list, uint32_t count)
{
	struct top top = { .frame = frame_at(s, list, 0) };
	enum frag_origin best = FRAG_ORIGIN_NATIVE;

	for (uint32_t i = 0; i < count && best < FRAG_ORIGIN_PROGRAM; i++) {
		const struct frag_frame_kind kind = kind_at(s, list, i);
		const enum frag_origin origin = (enum frag_origin)kind.origin;

		if (kind.maker & FRAME_IS_WORKSPACE && !top.workspace.text)
			top.workspace = kind.name;
		if (origin <= best)
			continue;
		if (origin == FRAG_ORIGIN_PROGRAM && best == FRAG_ORIGIN_PACKAGE)
			top.callee = top.frame;
		top.frame = frame_at(s, list, i);
		best = origin;
	}
	if (best == FRAG_ORIGIN_NATIVE)
		top.frame = find_native(s, list, count);
	return top;
}

#define BEGINS_BACKWARD 0x80    /* of a maker: this request begins a backward pass; */
#define IS_NATIVE 0x40          /* no frame is of Python; */
#define IS_WORKSPACE 0x20       /* a library's, for its kernels */
#define PURPOSE_SHIFT 8         /* above these: an enum frag_purpose */

/* Which frame of Python requested a block itself. */
struct innermost {
	bool any;               /* one was seen, */
	bool own;               /* also outside PyTorch */
};

/* Is it the first frame of Python, or the first one outside PyTorch? */
static bool is_innermost(struct innermost *seen, enum frag_origin origin, bool part)
{
	const bool is = origin != FRAG_ORIGIN_NATIVE
			&& (!seen->any || (origin != FRAG_ORIGIN_TORCH && !seen->own));

	seen->any = seen->any || (origin != FRAG_ORIGIN_NATIVE && !part);
	seen->own = seen->own || (origin > FRAG_ORIGIN_TORCH && !part);
	return is;
}

/*
 * The innermost frame that says it decides. A forward pass that the engine of autograd or a
 * checkpoint runs is a recomputation. The purpose is that of a frame further in, or the same.
 */
static uint16_t find_maker(struct frag_snapshot *s, const struct frag_value *list, uint32_t count)
{
	enum frag_maker maker = FRAG_MAKER_UNKNOWN;
	struct innermost seen = { .any = false };
	bool native = true;
	uint16_t flags = 0, purpose = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct frag_frame_kind kind = kind_at(s, list, i);
		const enum frag_origin origin = (enum frag_origin)kind.origin;
		const enum frag_maker here = (enum frag_maker)(kind.maker & ~FRAME_IS_WORKSPACE);
		const bool first = is_innermost(&seen, origin, kind.purpose & FRAME_IS_PART);

		native = native && origin == FRAG_ORIGIN_NATIVE;
		if (kind.maker & FRAME_IS_WORKSPACE)
			flags |= IS_WORKSPACE;
		if (maker == FRAG_MAKER_UNKNOWN && !purpose
		    && (first || !(kind.purpose & FRAG_PURPOSE_IF_INNERMOST)))
			purpose = kind.purpose & (FRAG_PURPOSE_IF_INNERMOST - 1);
		if (maker == FRAG_MAKER_FORWARD
		    && (here == FRAG_MAKER_BACKWARD || here == FRAG_MAKER_RECOMPUTE)) {
			maker = FRAG_MAKER_RECOMPUTE;
			native = false;
			break;
		}
		if (maker == FRAG_MAKER_UNKNOWN && here == FRAG_MAKER_BACKWARD
		    && frag_text_equals(kind.name, "_make_grads"))
			return FRAG_MAKER_BACKWARD | BEGINS_BACKWARD;
		if (maker == FRAG_MAKER_UNKNOWN)
			maker = here;
	}
	maker = maker == FRAG_MAKER_UNKNOWN ? FRAG_MAKER_PROGRAM : maker;
	return (uint16_t)(maker | flags | (native ? IS_NATIVE : 0)
			  | (uint32_t)purpose << PURPOSE_SHIFT);
}

/* What is known of a list of frames, which thousands of events share. NULL: out of memory. */
static struct frag_snapshot_stack *known_of(struct frag_snapshot *s, uint32_t frames)
{
	struct frag_snapshot_stack *k;
	uint32_t at;

	FRAG_ASSERT(frames && frames <= s->values.count);
	if (!s->known_at.entries && !frag_map_init(&s->known_at, frag_hash_seed()))
		return NULL;
	at = frag_map_get(&s->known_at, frames);
	if (at != FRAG_MAP_NONE)
		return &s->known[at];
	if (!FRAG_GROW(s->known, s->known_capacity, s->known_count)
	    || !frag_map_add(&s->known_at, frames, s->known_count))
		return NULL;
	k = &s->known[s->known_count++];
	*k = (struct frag_snapshot_stack){ .tagged = false };
	return k;
}

static uint16_t maker_of(struct frag_snapshot *s, uint32_t frames, struct frag_snapshot_stack *k)
{
	const struct frag_value *list = frames ? &s->values.table[frames - 1] : NULL;

	if (!frag_list_count(list))
		return FRAG_MAKER_UNKNOWN;
	if (!k->judged)
		k->maker = find_maker(s, list, frag_list_count(list));
	k->judged = true;
	return k->maker;
}

/* The stack's tag, for as long as the snapshot is there. */
static enum frag_add top_of(struct frag_snapshot *s, const struct frag_value *list,
			    uint32_t count, struct frag_text *out)
{
	char text[3 * FRAME_MAX + 64], *copy;
	const struct top top = find_top(s, list, count);
	const bool native = !top.frame.file.text;
	const struct frag_text node = native ? autograd_node(top.frame.name)
					     : (struct frag_text){ .length = 0 };
	uint32_t length = 0;
	enum frag_add rc;

	if (top.workspace.text && !native) {
		length = (uint32_t)write_native(text, top.workspace);
		memcpy(text + length, " < ", 3);
		length += 3;
	}
	if (native && frag_text_find(top.frame.name, "::"))
		length = (uint32_t)write_native(text, top.frame.name);
	/* what is no name of C++ */
	if (!native || !length)
		length += (uint32_t)write_frame(text + length, &top.frame);

	if (node.length && node.length < FRAME_MAX) {
		memcpy(text, node.text, node.length);
		length = node.length;
	}
	if (length && top.callee.file.text) {
		memcpy(text + length, " > ", 3);
		length += 3;
		length += (uint32_t)write_frame(text + length, &top.callee);
	}
	if (!length)
		return FRAG_ADDED;
	rc = frag_values_text(&s->values, length, &copy);
	if (rc == FRAG_ADDED)
		*out = (struct frag_text){ .text = memcpy(copy, text, length), .length = length };
	return rc;
}

static void append(char **at, const char *before, struct frag_text text, size_t max,
		   const char *behind)
{
	const size_t length = frag_text_cut(text.text, text.length, max);

	*at = stpcpy(*at, before);
	*at = (char *)memcpy(*at, text.text, length) + length;
	*at = stpcpy(*at, behind);
}

/*
 * "AddmmBackward0 < train.py:88 main": threads of autograd have no Python frame of the program.
 * Their requests belong to the backward pass that the program began last, up to its next other
 * request; an optimizer may run within the pass.
 */
static void name_pass(struct frag_snapshot *s, uint32_t frames, uint16_t flags, char **at,
		      struct frag_text *tag)
{
	static const struct frag_text autograd = { .text = "autograd", .length = 8 };
	const unsigned maker = flags & (IS_WORKSPACE - 1 + IS_NATIVE + BEGINS_BACKWARD);

	if (maker & BEGINS_BACKWARD) {
		s->backward = *tag;
	} else if (maker == FRAG_MAKER_FORWARD || maker == FRAG_MAKER_PROGRAM
		   || maker == FRAG_MAKER_SETUP) {
		s->backward.text = NULL;
	} else if (s->backward.text && (!frames || maker == (FRAG_MAKER_BACKWARD | IS_NATIVE))) {
		append(at, "", tag->text ? *tag : autograd, FRAME_MAX, "");
		append(at, " < ", s->backward, 2 * FRAME_MAX + 32, "");
	}
}

/* The tag of each list of frames is made once and kept. */
static enum frag_add make_tag(struct frag_snapshot *s, uint32_t frames, uint32_t note,
			      struct frag_snapshot_stack *k, uint16_t flags,
			      char room[FRAG_TAG_ROOM], struct frag_text *tag)
{
	enum frag_add rc = FRAG_ADDED;
	char *at = room;

	FRAG_ASSERT(note <= s->note_count);
	*tag = (struct frag_text){ .text = NULL };
	if (frames && !k->tagged) {
		const struct frag_value *list = &s->values.table[frames - 1];

		rc = top_of(s, list, frag_list_count(list), tag);
		k->tag = *tag;
		k->tagged = true;
	}
	if (frames)
		*tag = k->tag;
	name_pass(s, frames, flags, &at, tag);
	if (note && at == room && tag->text)
		append(&at, "", *tag, 2 * FRAME_MAX + 32, "");
	if (note)
		append(&at, at == room ? "" : " {", s->notes[note - 1], FRAME_MAX,
		       at == room ? "" : "}");
	if (at > room)
		*tag = (struct frag_text){ .text = room, .length = (uint32_t)(at - room) };
	return rc;
}

#define NODE_ROOM 700

/*
 * Of a frame in generated code PyTorch can note which node of the graph it is, and the lines of the model that this came from:
 * they stand behind the name. The text is one line, and cut. False: out of memory.
 */
static FRAG_OR_NOMEM name_node(struct frag_snapshot *s, const struct frag_value *dict, struct frag_text *name)
{
	static const char *const members[] = { "fx_node_name", "fx_node_op", "fx_node_target", "fx_original_trace" };
	char text[NODE_ROOM], *at = text, *kept;
	enum frag_add rc;

	if (!frag_is(dict, FRAG_DICT) || !frag_dict_get(&s->values, dict, members[0]))
		return true;
	append(&at, "", *name, FRAME_MAX, " {");
	for (int i = 0; i < 4; i++) {
		const struct frag_text part = text_of(frag_dict_get(&s->values, dict, members[i]));

		if (part.length)
			append(&at, i == 0 ? "" : i == 3 ? "; " : " ", part, (size_t)(text + NODE_ROOM - 8 - at) / (i < 3 ? 4 : 1), "");
	}
	at = stpcpy(at, "}");
	for (char *p = text; p < at; p++)
		*p = (unsigned char)*p < ' ' ? ' ' : *p;
	rc = frag_values_text(&s->values, (uint32_t)(at - text), &kept);
	if (rc == FRAG_ADDED)
		*name = (struct frag_text){ .text = memcpy(kept, text, (size_t)(at - text)), .length = (uint32_t)(at - text) };
	return rc != FRAG_ADD_NOMEM;
}

/* The number of item i of the list, a frame, in the table. */
static FRAG_OR_NOMEM frame_number(struct frag_snapshot *s, const struct frag_value *list, uint32_t i,
				  uint32_t *frame)
{
	const struct frag_value *dict = frag_list_at(&s->values, list, i);
	uint32_t *number = &s->frame_of[frag_value_number(&s->values, dict)];

	if (!*number) {
		struct frag_frame of = frame_at(s, list, i);

		if (!name_node(s, dict, &of.name) || !frag_stacks_frame(&s->table, &of, number))
			return false;
	}
	*frame = *number;
	return true;
}

static bool begin_table(struct frag_snapshot *s)
{
	if (s->frame_of)
		return true;
	if (!frag_stacks_init(&s->table, frag_hash_seed()))
		return false;
	s->frame_of = calloc((size_t)s->values.count + 1, sizeof(*s->frame_of));
	return s->frame_of;
}

/*
 * Adds frames from the outermost on, so that stacks with common callers share them. The memory
 * of new entries is counted: a small file of lists that share their items could fill the
 * memory. *stack is 0 where there is none, or too much of it.
 */
static FRAG_OR_NOMEM stack_of(struct frag_snapshot *s, uint32_t frames,
			      struct frag_snapshot_stack *k, uint32_t *stack)
{
	const struct frag_value *list = frames ? &s->values.table[frames - 1] : NULL;
	uint32_t count = frag_list_count(list), number = 0, frame;

	*stack = 0;
	if (s->stacks != FRAG_STACKS_ALL || !count)
		return true;
	if (!begin_table(s))
		return false;
	if (k->number) {
		*stack = k->number;
		return true;
	}
	for (uint32_t i = count < FRAG_FRAMES_MAX ? count : FRAG_FRAMES_MAX; i; i--) {
		const uint32_t before = s->table.count;

		if (!frame_number(s, list, i - 1, &frame)
		    || !frag_stacks_push(&s->table, frame, number, &number))
			return false;
		if (s->table.count > before && !frag_values_take(&s->values, STACK_MEMORY))
			return true;
	}
	*stack = k->number = number;
	return true;
}

enum frag_add frag_snapshot_tag(struct frag_snapshot *s, uint32_t frames, uint32_t note,
				char room[FRAG_TAG_ROOM], struct frag_record *rec)
{
	struct frag_snapshot_stack *k = NULL;
	enum frag_add rc;
	uint16_t flags;

	rec->tag.text = NULL;
	rec->stack = 0;
	if (s->stacks == FRAG_STACKS_NONE)
		return FRAG_ADDED;
	if (frames)
		k = known_of(s, frames);
	if (frames && !k)
		return FRAG_ADD_NOMEM;
	flags = maker_of(s, frames, k);
	rc = make_tag(s, frames, note, k, flags, room, &rec->tag);
	if (rec->tag.text)
		rec->members |= FRAG_HAS_TAG;
	rec->members |= (uint32_t)(flags & (IS_WORKSPACE - 1)) << FRAG_MAKER_SHIFT
			| (flags & IS_WORKSPACE ? FRAG_IS_WORKSPACE : 0)
			| (uint32_t)flags >> PURPOSE_SHIFT << FRAG_PURPOSE_SHIFT;
	if (!stack_of(s, frames, k, &rec->stack))
		return FRAG_ADD_NOMEM;
	if (rec->stack)
		rec->members |= FRAG_HAS_STACK;
	return rc;
}
