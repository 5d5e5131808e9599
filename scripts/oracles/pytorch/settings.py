"""settings.py - which settings strings does PyTorch refuse, and does fragsim refuse the same?

Strings are put together from keys and values near the limits of the rules, and some are then
damaged: a character goes, comes twice or turns into another. Only yes or no is compared. That
fragsim refuses more is meant: PyTorch reads "20.5", "20M" and "+20" as 20, -1 as a huge number.
"""
import random
import subprocess
from pathlib import Path

from case import OracleError
from oracle import BadSettings, expect
from torch_case import NEWEST, TorchCase, policy_of

MEGABYTES = ('0', '1', '10', '11', '12', '19', '20', '21', '32', '64', '100', '1000000', '-1', '',
             '20.0', '20.5', '1e2', '0x20', '+20', '020', '20M', 'abc', '99999999999', '2147483648',
             '18446744073709551616')
REALS = ('0', '0.0', '0.1', '0.5', '.5', '5e-1', '1', '1.0', '1.5', '0.99999', '-0.1', '', 'nan',
         'inf', '0.5x', 'half', '0,5', '1e-400')
BOOLEANS = ('True', 'False', 'true', 'false', '1', '0', 'TRUE', '', 'yes')
DIVISIONS = ('0', '1', '2', '3', '4', '8', '16', '64', '1024', '-2', '', '2.0', 'x', '[1:2]',
             '[1:2,4:8]', '[256:1,512:2,1024:4,>:8]', '[>:4]', '[]', '[3:2]', '[1:3]', '[1:0]',
             '[4:2,1:8]', '[>:4,1:2]', '[1:2', '1:2]', '[1-2]', '[0:2]', '[65536:2]', '[:2]',
             '[1:]')
RESERVES = ('0', '0.1', '0.5', '1.0', '1', '1.5', '2', '40G', '0G', '1.5G', '40g', '40GB', '1M', '',
            '-1', 'x')
VALUES = {
    'max_split_size_mb': MEGABYTES, 'max_non_split_rounding_mb': MEGABYTES,
    'large_segment_size_mb': MEGABYTES, 'garbage_collection_threshold': REALS,
    'per_process_memory_fraction': REALS, 'expandable_segments': BOOLEANS,
    'throw_on_cudamalloc_oom': BOOLEANS, 'roundup_power2_divisions': DIVISIONS,
    'expandable_segments_reserve': RESERVES, 'backend': ('native', 'Native', '', 'x'),
    'release_lock_on_cudamalloc': BOOLEANS, 'pinned_use_cuda_host_register': BOOLEANS,
    'pinned_num_register_threads': ('1', '2', '3', '128', '256', ''),
    'pinned_use_background_threads': BOOLEANS, 'graph_capture_record_stream_reuse': BOOLEANS,
    'block_size': MEGABYTES, 'max_split_size': MEGABYTES, '': ('', '1'),
}
DAMAGE = ',:[] \t>TF0'


def random_settings(seed: int) -> str:
    """A settings string that PyTorch may or may not accept."""
    rng = random.Random(seed)
    words = []
    for key in rng.sample(sorted(VALUES), rng.choice((1, 1, 1, 2, 3))):
        separator = ':' if rng.random() < 0.97 else rng.choice(('=', '', '::', ' : ', ','))
        words.append(key + separator + rng.choice(VALUES[key]))
    text = rng.choice((',',) * 20 + (', ', ',,', ';', ' ')).join(words)
    if rng.random() < 0.15 and text:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(('', text[at] * 2, rng.choice(DAMAGE))) + text[at + 1:]
    return text


def pytorch_refuses(oracle: Path, text: str) -> str:
    """Why, or nothing."""
    case = TorchCase(events=[{'op': 'alloc', 'id': 1, 'size': 1}], conf=text)
    try:
        expected = expect(oracle, case)
    except BadSettings as error:
        return str(error)
    return expected.why         # a bad string may also end the process as the library is loaded


def fragsim_refuses(program: Path, text: str, version: int) -> str:
    command = [program, 'run', '--quiet', '--policy', policy_of('', version), '--alloc-conf', text,
               '-']
    done = subprocess.run(command, input='{"op":"alloc","id":1,"size":1}\n', capture_output=True,
                          text=True, timeout=60, check=False)
    if done.returncode not in (0, 2):
        raise OracleError('exit status %d of %r' % (done.returncode, command))
    return done.stderr.strip() if done.returncode else ''


def compare_settings(oracle: Path, program: Path, text: str,
                     version: int = NEWEST) -> tuple[bool, str]:
    """Is it wrong, and who accepts what the other refuses?"""
    theirs, ours = pytorch_refuses(oracle, text), fragsim_refuses(program, text, version)
    if bool(theirs) == bool(ours):
        return False, ''
    if theirs:
        return True, 'only PyTorch refuses %r: %s' % (text, theirs.splitlines()[0])
    return False, 'only fragsim refuses %r: %s' % (text, ours)
