"""wheels.py - gets packages with pip, unpacks parts of them, compiles."""
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from case import OracleError


def fetch(packages: dict[str, tuple], folder: Path, given: Path | None = None,
          options: tuple = ()) -> None:
    """Unpacks wheels into `folder`: {package: beginnings of what is needed}, () for all.

    They are `given`, itself one or a folder with them, else pip downloads those that are not there
    yet.
    """
    for package, needed in packages.items():
        name, _, version = package.partition('==')
        stem = name.replace('-', '_')
        if not given and list(folder.glob('%s-%s*.dist-info' % (stem, version.rstrip('*')))):
            continue
        scratch = Path(tempfile.mkdtemp(dir=folder))
        try:
            place = given or download(package, scratch, options)
            wheels = [place] if place.is_file() else sorted(place.glob('%s-*.whl' % stem))
            if len(wheels) != 1:
                raise OracleError('%s: %d wheels of %s' % (place, len(wheels), name))
            with zipfile.ZipFile(wheels[0]) as archive:
                archive.extractall(folder, [one for one in archive.namelist() if not needed
                                            or one.startswith(needed) or '.dist-info/' in one])
        finally:
            shutil.rmtree(scratch)


def download(package: str, into: Path, options: tuple = ()) -> Path:
    command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--no-cache-dir',
               '--only-binary', ':all:', *options, '-d', into, package]
    if subprocess.run(command, check=False).returncode:
        raise OracleError('pip cannot download %s' % package)
    return into


def run(command: list) -> None:
    """A compiler, say."""
    if subprocess.run([str(word) for word in command], check=False).returncode:
        raise OracleError('failed: %s' % ' '.join(map(str, command)))
