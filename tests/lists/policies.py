"""policies.py - each policy of src/policy is where a policy has to be."""
import json
import random
import re
import sys

import tree
from tap import Tap
from whole import partial

TITLE = 'Add a policy'
DRAWS = 300             # of a random generator of keys: each comes up in one of two


def listed() -> dict[str, list[str]]:
    """The policies that the program has, and their keys."""
    document = json.loads(tree.fragsim('list', 'policies', '--json', '-'))
    return {x['name']: [key['name'] for key in x['params']] for x in document['policies']}


def check_sources(tap: Tap, found: list[tree.Entry]) -> None:
    section = tree.Section(TITLE)
    have = list(listed())
    for x in found:
        file = x.file.rsplit('/', 1)[1].removesuffix('.c')
        section.need(re.search(rf'^policy <.*\b{file}\b', tree.text('scripts/modules.txt'), re.M),
                     'scripts/modules.txt', f'no line "policy < ..." has the file {file}', 1)
        section.need(f'extern const struct frag_policy_ops {x.symbol};'
                     in tree.text('src/policy/policies.h'), 'src/policy/policies.h',
                     f'{x.symbol} of {x.file} is not declared', 2)
        section.need(x.name in have, 'src/policy/policy.c',
                     f'policies[] does not have {x.symbol} of {x.file}', 2)
        section.need(x.symbol == f'frag_policy_{x.name}', x.file,
                     f'{x.symbol} is not frag_policy_{x.name}, by its name', 1)
    section.need(have == sorted(have), 'src/policy/policy.c', f'policies[] is not sorted: {have}', 2)
    tap.result('policies: each table of src/policy is declared and listed', section.take(),
               len(found) < 5 and f'only {len(found)} tables were found')


def own_judge(name: str) -> bool:
    """Such a policy has no naive model: another program says what is right."""
    return (tree.ROOT / 'tests' / 'oracles' / name).is_dir()


def judged(file: str, name: str) -> bool:
    return file.startswith('tests/property/') and own_judge(name)


def check_models(tap: Tap) -> None:
    sys.path.insert(0, str(tree.ROOT / 'tests' / 'property'))
    import naive_policies
    import random_policies
    section = tree.Section(TITLE)
    random_keys = dict(random_policies.POLICIES)
    naive, generator = 'tests/property/naive_policies.py', 'tests/property/random_policies.py'
    for name, keys in listed().items():
        if own_judge(name):
            continue
        model = naive_policies.POLICIES.get(name)
        section.need(model, naive, f'no line of POLICIES models {name}', 3)
        section.need(not model or sorted(model[1]) == sorted(keys), naive,
                     f'the keys of {name} are {sorted(keys)}', 3)
        section.need(name in random_keys, generator, f'no line of POLICIES has {name}', 3)
        drawn = {key for seed in range(DRAWS if name in random_keys else 0)
                 for key in random_keys[name](random.Random(seed))}
        section.need(name not in random_keys or drawn == set(keys), generator,
                     f'the keys of {name} are {sorted(keys)}, not {sorted(drawn)}', 3)
    tap.result('policies: each has its naive model, with its keys', section.take())


def check_tests(tap: Tap) -> None:
    section = tree.Section(TITLE)
    for name in listed():
        section.need(tree.files(f'tests/golden/{name}/*.sh'), f'tests/golden/{name}',
                     f'no CASE.sh shows what {name} does', 4)
    tap.result('policies: each has a golden case', section.take())
    tap.result('policies: whoever goes through all of them has each',
               [f'{x} (CONTRIBUTING, {TITLE}, step 4)' for x in partial(list(listed()), judged)])


def check_manual(tap: Tap) -> None:
    section = tree.Section(TITLE)
    page = 'man/fragsim-policies.7'
    parts = {x.split('\n', 1)[0]: x for x in re.split(r'^\.S[sh] ', tree.text(page), flags=re.M)}
    for name, keys in listed().items():
        section.need(name in parts, page, f'no .Ss {name}', 5)
        # several policies of one family share the keys, which the first of them describes
        described = [set(re.findall(r'^\.It Cm (\w+)', x, re.M)) for x in parts.values()]
        section.need(set(keys) in described or not keys, page,
                     f'no list of .It Cm KEY has just the keys of {name}: {keys}', 5)
        section.need(tree.has_word(name, tree.text('CHANGELOG.md')), 'CHANGELOG.md',
                     f'no word of {name}', 5)
    tap.result('policies: each is described, with its keys', section.take())


def check_baseline(tap: Tap) -> None:
    section = tree.Section(TITLE)
    file = 'traces/baseline.json'
    for trace in json.loads(tree.text(file))['traces']:
        missing = sorted(set(listed()) - {run['policy']['name'] for run in trace['runs']})
        section.need(not missing, file, f'{trace["path"]} lacks {", ".join(missing)}', 5)
    tap.result('policies: each is in the baseline of the recorded traces', section.take())


def check(tap: Tap) -> None:
    found = tree.entries('frag_policy_ops', 'policy')
    check_sources(tap, found)
    check_models(tap)
    check_tests(tap)
    check_manual(tap)
    check_baseline(tap)
