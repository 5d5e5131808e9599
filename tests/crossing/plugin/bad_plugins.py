"""bad_plugins.py - plug-ins that do not fit, and plug-ins that lie."""

# A best fit in segments of 1 MiB, with places for what is wrong about it.
POLICY = '''
#include "fragsim/plugin.h"

static int my_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	uint64_t need = frag_round_up_pow2(frag_round_up(rq->bytes, 8), 512);
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
	.order = @ORDER@,
	.alloc = @SLOT@,
	.free = my_free,
};
'''
PARTS = {'ALLOC': '', 'FREE': '', 'KEY': 'key', 'NAME': '"my-liar"', 'ORDER': 'FRAG_ORDER_SIZE',
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
    ('other-version', other('FRAG_PLUGIN_VERSION', '9'), ()),
    ('other-sizes', other('FRAG_PLUGIN_SIZES', '8'), ()),
    ('no-table', policy() + 'FRAG_PLUGIN(*(const struct frag_policy_ops *)0);\n', ()),
    ('no-name', policy(NAME='NULL') + EXPORT, ()),
    ('upper-case', policy(NAME='"MyPolicy"') + EXPORT, ()),
    ('digit-first', policy(NAME='"2fit"') + EXPORT, ()),
    ('taken-name', policy(NAME='"bestfit"') + EXPORT, ()),
    ('no-alloc', policy(SLOT='NULL') + EXPORT, NO_MISSING),
    ('no-order', policy(ORDER='3') + EXPORT, ()),
    ('bad-key', policy(KEY='A key') + EXPORT, ()),
    ('no-key-hook', policy(ORDER='FRAG_ORDER_KEY') + EXPORT, ()),
    ('not-for-plugins', policy(ALLOC='rc = frag_heap_defer_free(h, *out, 0);') + EXPORT, ()),
    ('near-miss', policy(ALLOC='extern int frag_heap_tak(void); rc = frag_heap_tak();') + EXPORT,
     ()),
    ('undefined', policy(ALLOC='extern int nobody_has_this(void); rc = nobody_has_this();')
     + EXPORT, ()),
]

LETTERS = "a policy's name is made of a-z, 0-9, _ and -, and begins with a letter"
REQUIRED = 'policy my-liar: summary, alloc and free are required'
WHY = {
    'no-export': ': its source must end in FRAG_PLUGIN(TABLE)',
    'no-plugin': 'no symbol frag_plugin in it: its source must end in FRAG_PLUGIN(TABLE)',
    'other-magic': 'its symbol frag_plugin is not that of a fragsim plug-in',
    'other-version': 'made for version 9 of the plug-in interface, but this is version 6: '
                     'compile it again with the headers of this fragsim',
    'other-sizes': "its structures have other sizes than this fragsim's",
    'no-table': 'it names no table',
    'no-name': LETTERS, 'upper-case': LETTERS, 'digit-first': LETTERS,
    'taken-name': 'fragsim has a policy bestfit already: choose another name',
    'no-alloc': REQUIRED, 'no-order': 'policy my-liar: order 3 is none',
    'no-key-hook': 'policy my-liar: key and FRAG_ORDER_KEY go together',
    'bad-key': 'policy my-liar: key 0, "A key": its name is not made of a-z, 0-9, _ and -',
    'not-for-plugins': 'plug-in ./not-for-plugins.so: undefined symbol: frag_heap_defer_free\n',
    'near-miss': 'plug-in ./near-miss.so: undefined symbol: frag_heap_tak\n',
    'undefined': 'plug-in ./undefined.so: undefined symbol: nobody_has_this\n',
}

FIRST = 'event 0 (alloc id 1): '
WHOLE = 'block 0 (segment 0, offset 0, 1048576 bytes, free) '
FREED = 'event 2 (free id 1): '
# Name, WHERE:CODE, the message without the policy. Ids 1 (1000 bytes) and 2 (3000), then 1 free.
LIARS = [
    ('answers with a free block', 'ALLOC:return 0;',
     FIRST + 'alloc: ' + WHOLE + 'is the answer, but not allocated'),
    ('answers with a block that never was', 'ALLOC:*out = 77777; return 0;',
     FIRST + 'alloc: block 77777: there never was such a block'),
    ('takes a block that never was', 'ALLOC:*out = 77777;',
     FIRST + 'frag_heap_take: block 77777: there never was such a block'),
    ('takes none', 'ALLOC:*out = FRAG_NO_BLOCK;',
     FIRST + 'frag_heap_take: FRAG_NO_BLOCK is no block'),
    ('takes less than was asked', 'ALLOC:need = rq->bytes - 1;',
     FIRST + 'frag_heap_take: ' + WHOLE + 'cannot serve a request of 1000 bytes with 999'),
    ('takes more than there is', 'ALLOC:need = 2 << 20;',
     FIRST + 'frag_heap_take: ' + WHOLE + 'is smaller than 2097152 bytes'),
    ('takes more than there is from above', 'ALLOC:if (p) return frag_heap_take_upper(h, out, 5, 2 << 20);',
     FIRST + 'frag_heap_take_upper: ' + WHOLE + 'is smaller than 2097152 bytes'),
    ('takes none from above', 'ALLOC:*out = FRAG_NO_BLOCK; if (p) return frag_heap_take_upper(h, out, 5, 8);',
     FIRST + 'frag_heap_take_upper: FRAG_NO_BLOCK is no block'),
    ('takes a block from above twice',
     'ALLOC:{ rc = frag_heap_take_upper(h, out, rq->bytes, need); if (rc) return rc; }',
     FIRST + 'frag_heap_take: block 1 (segment 0, offset 1047552, 1024 bytes, allocated) is not free'),
    ('takes two blocks',
     'ALLOC:{ frag_block b = *out; rc = frag_heap_take(h, &b, rq->bytes, need); '
     '*out = frag_heap_find(h, list, need); if (rc) return rc; }',
     FIRST + 'alloc: the number of allocated blocks after it is 2, not 1'),
    ('takes a block twice', 'ALLOC:{ rc = frag_heap_take(h, out, rq->bytes, need); if (rc) return rc; }',
     FIRST + 'frag_heap_take: block 0 (segment 0, offset 0, 1024 bytes, allocated) is not free'),
    ('frees nothing', 'FREE:if (b != FRAG_NO_BLOCK) return 0;',
     FREED + 'free: the number of allocated blocks after it is 2, not 1'),
    ('frees twice', 'FREE:frag_heap_give(p->heap, b, NULL);',
     FREED + 'frag_heap_give: block 0 (segment 0, offset 0, 1024 bytes, free) is neither'
     ' allocated nor pending'),
    ('releases what is in use',
     'FREE:{ int rc = frag_heap_release(p->heap, b); if (rc) return rc; }',
     FREED + 'frag_heap_release: block 0 (segment 0, offset 0, 1024 bytes, allocated) is not all'
     ' of its segment'),
    ('answers with a code of its own', 'ALLOC:if (p) return -4711;',
     FIRST + 'answered with code -4711, which means nothing here'),
    ('says why', 'ALLOC:if (p) return frag_fail(p->err, FRAG_EPOLICY, "no luck with %d", 13);',
     FIRST + 'no luck with 13'),
]

AT_FREE = 'event 2: '
NULL_WRITE = 'FREE:{ volatile int *nothing = 0; *nothing = 5; }'
# Name, WHERE:CODE, what stands before my_alloc, when it crashes, and of which signal.
CRASHES = [
    ('writes to nowhere', NULL_WRITE, '', AT_FREE, 'SIGSEGV'),
    ('gives up', 'FREE:if (b != FRAG_NO_BLOCK) abort();', '', AT_FREE, 'SIGABRT'),
    ('ends by a fault of arithmetic', 'FREE:raise(SIGFPE);', '', AT_FREE, 'SIGFPE'),
    ('ends by a fault of a file', 'FREE:raise(SIGBUS);', '', AT_FREE, 'SIGBUS'),
    ('calls itself for ever', 'FREE:deeper(1);', 'static int deeper(volatile int n) {'
     ' volatile char room[4096]; room[0] = (char)n; return deeper(n + room[0]) + room[0]; }',
     AT_FREE, 'SIGSEGV'),
    ('dies when it is loaded', 'FREE:', '__attribute__((constructor)) static void born(void)'
     ' { raise(SIGSEGV); }', 'before the first event: ', 'SIGSEGV'),
]
INCLUDES = '#include <signal.h>\n#include <stdlib.h>\n'

# Leaves a block neither allocated nor free: found where the run recomputes everything.
KEEPER = 'FREE:if (p) return frag_heap_detach_live(p->heap, b);'
KEEPER_SAID = 'policy ./keeper.so, device 0, after event 2: '
