"""play.py - plays workflows of GitHub and jobs of GitLab in a folder, as a runner would."""
import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 300      # seconds
# what a runner brings; nothing of ours
BARE = {'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent', 'LC_ALL': 'C.UTF-8'}

GITHUB = {'server_url': 'http://127.0.0.1:9', 'action_repository': 'someone/fragsim',
          'action_ref': 'v9',
          'action_path': str(ROOT)}


@dataclass
class Played:
    status: int
    output: str         # of all steps
    report: str         # the summary of the job, or its report of tests


def load(name):
    return yaml.safe_load((ROOT / name).read_text(encoding='utf-8'))


def shell(words, folder, env):
    done = subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=PATIENCE)
    return done.returncode, done.stdout


def steps_of(steps, folder, env, inputs):
    """The steps that have a `run`, with ${{ inputs.NAME }} filled in, and GITHUB_PATH obeyed."""
    summary, added = folder / 'summary.md', folder / 'added-path'
    summary.unlink(missing_ok=True)
    added.touch()
    output = ''
    for step in steps:
        if 'run' not in step:
            continue
        wanted = re.fullmatch(r"inputs\.(\w+) != ''", step.get('if', ''))
        assert wanted or 'if' not in step, step
        if wanted and not inputs[wanted[1]]:
            continue
        own = {k: re.sub(r'\$\{\{ (inputs|github)\.([\w-]+) \}\}',
                         lambda m: (inputs if m[1] == 'inputs' else GITHUB)[m[2]], v)
               for k, v in step.get('env', {}).items()}
        # what is filled into a script could be a script
        assert '${{' not in step['run'], step
        path = ':'.join([*reversed(added.read_text(encoding='utf-8').splitlines()), env['PATH']])
        status, said = shell(
            ['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c', step['run']], folder,
            {**env, **own, 'PATH': path, 'GITHUB_PATH': str(added), 'RUNNER_TEMP': str(folder),
             'GITHUB_STEP_SUMMARY': str(summary)})
        output += said
        if status:
            break
    report = summary.read_text(encoding='utf-8') if summary.exists() else ''
    return Played(status, output, report)


def release(folder, wheels):
    """A release in a folder, and the action of its commit, which has the checksums. The folder."""
    sources = folder / 'action'
    (sources / 'include/fragsim').mkdir(parents=True)
    shutil.copy(ROOT / 'include/fragsim/version.h', sources / 'include/fragsim')
    (sources / 'action.sha256').write_text(''.join(
        f'{hashlib.sha256(x.read_bytes()).hexdigest()}  {x.name}\n' for x in wheels), encoding='ascii')
    for wheel in wheels:
        shutil.copy(wheel, folder)
    GITHUB['action_path'] = str(sources)
    return str(folder)


def action(folder, env, **given):
    """The composite action, with inputs as `with:` gives them."""
    file = load('action.yml')
    assert file['runs']['using'] == 'composite' and given.keys() <= file['inputs'].keys()
    assert all(x.get('shell') for x in file['runs']['steps'])
    inputs = {k: given.get(k, v['default']) for k, v in file['inputs'].items()}
    return steps_of(file['runs']['steps'], folder, {**BARE, **env}, inputs)


def workflow(name, folder, env):
    file = load(name)
    [job] = file['jobs'].values()
    return steps_of(job['steps'], folder, {**BARE, **file['env'], **env}, {})


def gitlab(name, folder, env, interpreter='sh', **given):
    """A job's script is one shell's, whose variables are the job's."""
    [job] = load(name).values()
    variables = {**job['variables'], **given}
    assert variables.keys() == job['variables'].keys()
    status, output = shell([interpreter, '-ec', '\n'.join(job['script'])], folder,
                           {**BARE, **variables, **env})
    path = folder / job['artifacts']['reports']['junit']
    return Played(status, output, path.read_text(encoding='utf-8') if path.exists() else '')


def path_of(*folders):
    return {'PATH': ':'.join([*map(str, folders), BARE['PATH']])}
