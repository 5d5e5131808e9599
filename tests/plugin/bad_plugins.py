"""bad_plugins.py - plug-ins that do not fit, and plug-ins that lie."""

# A best fit in segments of 1 MiB, with places for what is wrong about it.
POLICY = '''
#include "fragsim/plugin.h"

static int my_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	uint64_t need = (rq->bytes + 511) / 512 * 512;
	struct frag_heap *h = p->heap;
	frag_list list;
	int rc = frag_heap_list(h, rq->pool, 0, &list);

	if (rc)
		return rc;
	*out = frag_heap_find(h, list, need);
	if (*out == FRAG_NO_BLOCK)
		rc = frag_policy_obtain(p, list, 1 << 20, true, out);
	if (rc)
		return rc;
	@ALLOC@
	return frag_heap_take(h, out, rq->bytes, need);
}

static int my_free(struct frag_policy *p, frag_block b)
{
	@FREE@
	return frag_heap_give(p->heap, b, NULL);
}

static const struct frag_param_spec my_params[] = {
	{ .name = "@KEY@", .type = FRAG_PARAM_COUNT, .help = "a key" },
	{ 0 },
};

const struct frag_policy_ops my_ops;
const struct frag_policy_ops my_ops = {
	.name = @NAME@,
	.summary = "a test's",
	.params = my_params,
	.index = @INDEX@,
	.alloc = @SLOT@,
	.free = my_free,
};
'''
PARTS = {'ALLOC': '', 'FREE': '', 'KEY': 'key', 'NAME': '"my-liar"', 'INDEX': '&frag_index_size',
         'SLOT': 'my_alloc'}
EXPORT = 'FRAG_PLUGIN(my_ops);\n'


def policy(**parts: str) -> str:
    text = POLICY
    for name, value in {**PARTS, **parts}.items():
        text = text.replace(f'@{name}@', value)
    return text


def liar(body: str) -> str:
    where, _, code = body.partition(':')
    return policy(**({where: code} if body else {})) + EXPORT


def other(macro: str, value: str) -> str:
    """Exports what another version of the headers would."""
    return policy() + f'#undef {macro}\n#define {macro} {value}\n' + EXPORT


NO_MISSING = ('-Wno-unused-function',)

# Name, source, flags of the compiler.
MISFITS = [
    ('no-export', policy(), ()),
    ('no-plugin', 'int answer(void);\nint answer(void) { return 42; }\n', ()),
    ('other-magic', other('FRAG_PLUGIN_MAGIC', '"fragile plug-in"'), ()),
    ('other-version', other('FRAG_PLUGIN_VERSION', '2'), ()),
    ('other-sizes', other('FRAG_PLUGIN_SIZES', '8'), ()),
    ('no-table', policy() + 'FRAG_PLUGIN(*(const struct frag_policy_ops *)0);\n', ()),
    ('no-name', policy(NAME='NULL') + EXPORT, ()),
    ('upper-case', policy(NAME='"MyPolicy"') + EXPORT, ()),
    ('digit-first', policy(NAME='"2fit"') + EXPORT, ()),
    ('taken-name', policy(NAME='"bestfit"') + EXPORT, ()),
    ('no-alloc', policy(SLOT='NULL') + EXPORT, NO_MISSING),
    ('no-index', policy(INDEX='NULL') + EXPORT, ()),
    ('bad-key', policy(KEY='A key') + EXPORT, ()),
    ('undefined', policy(ALLOC='extern int nobody_has_this(void); rc = nobody_has_this();')
     + EXPORT, ()),
]

LETTERS = "a policy's name is made of a-z, 0-9, _ and -, and begins with a letter"
REQUIRED = 'policy my-liar: summary, index, alloc and free are required'
WHY = {
    'no-export': 'undefined symbol: frag_index_size: its source has to end in FRAG_PLUGIN(TABLE)',
    'no-plugin': 'no symbol frag_plugin in it: its source has to end in FRAG_PLUGIN(TABLE)',
    'other-magic': 'its symbol frag_plugin is not that of a fragsim plug-in',
    'other-version': 'made for version 2 of the plug-in interface, but this is version 1: '
                     'compile it again with the headers of this fragsim',
    'other-sizes': "its structures have other sizes than this fragsim's",
    'no-table': 'it names no table',
    'no-name': LETTERS, 'upper-case': LETTERS, 'digit-first': LETTERS,
    'taken-name': 'fragsim has a policy bestfit of its own: give this one another name',
    'no-alloc': REQUIRED, 'no-index': REQUIRED,
    'bad-key': 'policy my-liar: key 0, "A key": its name is not made of a-z, 0-9, _ and -',
    'undefined': 'undefined symbol: nobody_has_this',
}

IMPOSSIBLE = 'policy my-liar asked its heap for the impossible'
# Name, WHERE:CODE, the message. Ids 1 (1000 bytes) and 2 (3000) live, then 1 free.
LIARS = [
    ('answers with a free block', 'ALLOC:return 0;', IMPOSSIBLE),
    ('answers with a block that never was', 'ALLOC:*out = 77777; return 0;', IMPOSSIBLE),
    ('takes a block that never was', 'ALLOC:*out = 77777;', IMPOSSIBLE),
    ('takes less than was asked', 'ALLOC:need = rq->bytes - 1;', IMPOSSIBLE),
    ('takes more than there is', 'ALLOC:need = 2 << 20;', IMPOSSIBLE),
    ('takes two blocks',
     'ALLOC:{ frag_block b = *out; rc = frag_heap_take(h, &b, rq->bytes, need); '
     '*out = frag_heap_find(h, list, need); if (rc) return rc; }', IMPOSSIBLE),
    ('frees nothing', 'FREE:if (b != FRAG_NO_BLOCK) return 0;', IMPOSSIBLE),
    ('frees twice', 'FREE:frag_heap_give(p->heap, b, NULL);', IMPOSSIBLE),
    ('releases what is in use',
     'FREE:{ int rc = frag_heap_release(p->heap, b); if (rc) return rc; }', IMPOSSIBLE),
    ('answers with a code of its own', 'ALLOC:if (p) return -4711;',
     'policy my-liar answered with code -4711, which means nothing here'),
    ('says why', 'ALLOC:if (p) return frag_fail(p->err, FRAG_EPOLICY, "no luck with %d", 13);',
     'policy my-liar: no luck with 13'),
]

# Leaves a block neither allocated nor free: found where the run recomputes everything.
KEEPER = 'FREE:if (p) return frag_heap_drop(p->heap, b);'
KEEPER_SAID = 'policy ./keeper.so, device 0, after step 2: '
