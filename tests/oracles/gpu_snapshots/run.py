"""run.py - snapshots of a real GPU: every address of theirs, and the statistics that PyTorch printed.

    run.py PROGRAM      prints TAP

The peaks and counts in memory_stats.json are torch.cuda.memory_stats() of the recorded process;
README.md says how the files were made.
"""

import json
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / 'support'))
from program import call, document  # noqa: E402
from tap import Tap  # noqa: E402

DEVICE_BYTES = 85017493504          # what cudaMemGetInfo said of that H100


def main() -> int:
    tap = Tap()
    stats = json.loads((HERE / 'memory_stats.json').read_text())
    tap.same('each snapshot has its statistics', sorted(stats),
             sorted(x.name.removesuffix('.pickle.gz') for x in HERE.glob('*.pickle.gz')))
    for name, real in stats.items():
        file = HERE / f'{name}.pickle.gz'
        conf = '--device-bytes', DEVICE_BYTES, '--alloc-conf', real.pop('alloc_conf')
        rc, out, err = call('verify', *conf, file)
        pairs = re.findall(r'(\d+) of (\d+) ', out)
        tap.ok(rc == 0 and len(pairs) > 1 and all(a == b for a, b in pairs),
               f'{name}: every address and call of the driver agrees', out, err)
        ours = document('run', '-q', *conf, file, statuses=(0, 3))['runs'][0]
        ours = {**ours['pytorch'], **ours['peak']}
        tap.same(f'{name}: peaks and counts are those of memory_stats()',
                 {key: ours[key] for key in real}, real)
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main())
