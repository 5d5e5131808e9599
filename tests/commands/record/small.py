"""small.py - records models as scripts/record_torch.py does, but smaller; for run.py.

usage: small.py SCRIPTS CASES

SCRIPTS is the folder of record_torch.py; CASES is JSON: [[NAME, OPTIONS, SEED, FILE], ...], where
OPTIONS replace the model's own and SEED is null for none. Prints what failed, as JSON by FILE.
It runs under a python that has torch.
"""
import json
import sys
import traceback

sys.path.insert(0, sys.argv[1])

import record_torch                                     # noqa: E402

failed = {}
for name, options, seed, path in json.loads(sys.argv[2]):
    whole = record_torch.MODELS[name]
    record_torch.MODELS[name] = whole._replace(options={**whole.options, **options})
    sys.argv = ["record_torch.py", "model", name, "-o", path]
    if seed is not None:
        sys.argv += ["--seed", str(seed)]
    try:
        arguments = record_torch.parse_args()
        arguments.command(arguments)
    except (Exception, SystemExit):
        failed[path] = traceback.format_exc()
    record_torch.MODELS[name] = whole
print(json.dumps(failed))
