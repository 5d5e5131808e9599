#!/usr/bin/python3 -B
# random_policies.py - for a seed, one to four policies with random valid keys, and other options
"""random_policies.py SEED: print the options of `fragsim run` that belong to a seed"""

import random
import shlex
import sys

KIB, MIB = 1024, 1024 * 1024
SIZES = [1, 512, 1000, 3000, 4 * KIB, 10000, 64 * KIB, 100 * KIB, 512 * KIB, MIB, 2 * MIB, 3 * MIB,
         20 * MIB]


def power(rng, low, high):
    """A power of two with an exponent from low to high."""
    return 2 ** rng.randint(low, high)


def pool(rng, sizes):
    return 0 if rng.random() < 0.5 else rng.choice(sizes)


def fit_keys(rng):
    return {"align": rng.choice([1, 2, 8, 256, 512, power(rng, 0, 14)]),
            "segment": rng.choice(SIZES), "pool": pool(rng, SIZES[:10]),
            "min_split": rng.choice([1, 100, 512, 513, 4 * KIB, MIB]),
            "release": rng.choice(["true", "false"])}


def buddy_keys(rng):
    least = power(rng, 0, 13)
    segment = max(least, power(rng, 8, 22))
    sizes = [max(least, power(rng, 6, 22)) for _ in range(3)]
    return {"min": least, "segment": segment, "pool": pool(rng, sizes)}


def sizeclass_keys(rng):
    slab = rng.choice([1, 700, 4 * KIB, 10000, 64 * KIB, 2 * MIB, 2 * MIB, 5 * MIB])
    small = rng.choice([1, slab, slab // 2, slab // 3, min(slab, 512), min(slab, 20 * KIB)])
    # a slab of a million slots would only make the naive model slow
    quanta = [quantum for quantum in (1, 8, 64, 512, 512, 4096) if slab // quantum <= 5000]
    return {"quantum": rng.choice(quanta), "steps": power(rng, 0, 5),
            "max_small": max(1, small), "slab": slab, "segment": rng.choice(SIZES)}


def tlsf_keys(rng):
    return {"segment": rng.choice(SIZES), "pool": pool(rng, SIZES),
            "sl_log2": str(rng.randint(1, 5))}


def cupy_keys(rng):
    return {"limit": rng.choice([0, 1, 3000, 100 * KIB, MIB, 5 * MIB + 1, 50 * MIB])}


def rmm_keys(rng):
    initial = rng.choice([0, 256, 10 * KIB, MIB, 3 * MIB, 20 * MIB])
    most = rng.choice([0, 256, 10 * KIB, 700 * KIB, 2 * MIB, 5 * MIB, 50 * MIB])
    return {"initial": initial, "maximum": most and max(initial, most)}


def bfc_keys(rng):
    keys = {"memory_limit": rng.choice([1, 300, 100 * KIB, 3 * MIB, 8 * MIB + 100, 20 * MIB,
                                        rng.randint(1, 1 << 28)]),
            "allow_growth": rng.choice(["true", "false"]),
            "garbage_collection": rng.choice(["true", "false"]),
            "fragmentation_fraction": rng.choice(["0", "0.01", "0.1", "0.3333", "1"])}
    if rng.random() < 0.4:      # without a limit it cannot obtain all at once
        del keys["memory_limit"], keys["allow_growth"]
    return keys


# keys whose ranges depend on each other are both given unless all keys are left out
TOGETHER = [("min", "segment"), ("max_small", "slab"), ("initial", "maximum"),
            ("memory_limit", "allow_growth")]
POLICIES = [("bestfit", fit_keys), ("firstfit", fit_keys), ("nextfit", fit_keys),
            ("worstfit", fit_keys), ("buddy", buddy_keys), ("sizeclass", sizeclass_keys),
            ("tlsf", tlsf_keys), ("direct", lambda rng: {}),
            ("plan", lambda rng: {"file": "", "period": rng.choice(["", "step*"])}),
            ("cupy", cupy_keys), ("rmm", rmm_keys), ("bfc", bfc_keys)]
DRAWN_FIRST = 8     # the others are added by a draw of their own, so that a seed stays what it was


def written(rng, value):
    """A size as a person might write it."""
    if isinstance(value, str) or value == 0 or rng.random() < 0.6:
        return str(value)
    for unit, letter in ((MIB, "M"), (KIB, "K")):
        if value % unit == 0:
            return "%d%s" % (value // unit, letter + rng.choice(["", "iB"]))
        if value > unit // 2 and value % (unit // 8) == 0:
            return "%s%s" % (value / unit, letter + "iB")
    return str(value)


def random_policy(rng, among):
    name, keys_of = rng.choice(among)
    keys = keys_of(rng)
    if rng.random() < 0.2:      # all defaults
        return name
    for key in list(keys):
        bound = any(key in pair and set(pair) <= set(keys) for pair in TOGETHER)
        if rng.random() < 0.4 and not (bound and name in ("buddy", "rmm", "sizeclass", "bfc")):
            del keys[key]
    if name == "sizeclass" and keys.get("steps"):
        keys["steps"] = str(keys["steps"])      # a number, not a size
    keys = list(keys.items())
    rng.shuffle(keys)
    text = ",".join("%s=%s" % (key, written(rng, value)) for key, value in keys)
    return name + ":" + text if text else name


def random_policies(seed):
    """Up to four different policies, or five."""
    rng, added = random.Random("policies %d" % seed), random.Random("added policies %d" % seed)
    texts = [random_policy(rng, POLICIES[:DRAWN_FIRST]) for _ in range(rng.randint(1, 4))]
    if added.random() < 0.6:
        texts.append(random_policy(added, POLICIES[DRAWN_FIRST:]))
    return list(dict.fromkeys(texts))


def random_overrides(seed):
    """What replaces the figures of every device of the trace: mostly nothing. Context and others
    leave something of the total, so they come with it: a command line that says otherwise is
    refused."""
    rng = random.Random("overrides %d" % seed)
    overrides = {}
    if rng.random() < 0.15:
        overrides["total_bytes"] = rng.choice([0, 8 * MIB, 64 * MIB, 300 * KIB])
        overrides["context_bytes"] = rng.choice([0, 100 * KIB])
        overrides["other_bytes"] = rng.choice([0, 100 * KIB])
    if rng.random() < 0.1:
        overrides["granularity_bytes"] = rng.choice([1, 4096, 2 * MIB, 999])
    return overrides


def random_on_oom(seed):
    return random.Random("on oom %d" % seed).choice(["stop", "continue"])


OPTION = {"total_bytes": "--device-bytes", "context_bytes": "--context-bytes",
          "other_bytes": "--other-bytes", "granularity_bytes": "--granularity"}


def random_options(seed):
    """All of it as arguments of a command line."""
    options = ["--on-oom", random_on_oom(seed)]
    for text in random_policies(seed):
        options += ["--policy", text]
    for key, value in random_overrides(seed).items():
        options += [OPTION[key], "%dB" % value]
    return options


if __name__ == "__main__":
    print(shlex.join(random_options(int(sys.argv[1]))))
