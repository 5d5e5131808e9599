"""build.py - builds the oracle from a torch wheel.

Of the wheel only two libraries and some headers are unpacked. The fake CUDA runtime is built with
the file name and the version node that libc10_cuda.so asks for.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / 'src'
PACKAGE = 'torch==2.15.0'
WANTED = ('torch/lib/libc10.so', 'torch/lib/libc10_cuda.so', 'torch/version.py',
          'torch/include/c10/', 'torch/include/torch/headeronly/')


class BuildError(Exception):
    """The oracle cannot be built; says why."""


def find_cuda(given: str | None) -> Path:
    """The folder that holds cuda.h."""
    places = [given, os.environ.get('CUDA_INC'), '/usr/local/cuda/include',
              *sorted(glob.glob('/usr/local/cuda-13*/include'))]
    for place in filter(None, places):
        if (Path(place) / 'cuda.h').exists():
            return Path(place)
    raise BuildError('no cuda.h: name the headers of CUDA 13 with --cuda-include')


def download(package: str, into: Path) -> Path:
    """The wheel of a package, from where pip finds it."""
    command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary',
               ':all:', '-d', into, package]
    if subprocess.run(command, check=False).returncode:
        raise BuildError('pip cannot download %s' % package)
    return wheel_of(into)


def wheel_of(place: Path) -> Path:
    """The wheel itself, or the only one of a folder."""
    if place.is_file():
        return place
    wheels = sorted(place.glob('torch-*.whl'))
    if len(wheels) != 1:
        raise BuildError('%s: %d torch wheels' % (place, len(wheels)))
    return wheels[0]


def unpack(wheel: Path, into: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(WANTED)]
        if 'torch/lib/libc10_cuda.so' not in names:
            raise BuildError('%s: a wheel without CUDA' % wheel)
        archive.extractall(into, names)


def compile_all(folder: Path, cuda: Path) -> Path:
    """Three compilations; returns the program."""
    torch, lib = folder / 'torch', folder / 'lib'
    lib.mkdir(exist_ok=True)
    needed = re.search(rb'libcudart\.so\.(\d+)', (torch / 'lib/libc10_cuda.so').read_bytes())
    if not needed or int(needed[1]) != 13:
        raise BuildError('libc10_cuda.so does not ask for libcudart.so.13')
    runtime = lib / 'libcudart.so.13'
    program = folder / 'oracle'
    includes = ['-isystem', cuda, '-isystem', torch / 'include']
    cxx, cc = os.environ.get('CXX', 'g++'), os.environ.get('CC', 'gcc')
    commands = [
        [cxx, '-O2', '-std=c++17', '-Wall', '-Wextra', '-fPIC', '-shared', *includes,
         SOURCES / 'fake_cuda.cpp', '-o', runtime, '-Wl,-soname,libcudart.so.13',
         '-Wl,--version-script=%s' % (SOURCES / 'fake_cudart.map')],
        [cc, '-O2', '-Wall', '-Wextra', '-fPIC', '-shared', SOURCES / 'fake_nvml.c', '-o',
         lib / 'libnvidia-ml.so.1', '-Wl,-soname,libnvidia-ml.so.1'],
        [cxx, '-O2', '-std=c++20', '-Wall', '-Wextra', *includes, SOURCES / 'oracle.cpp', '-o',
         program, torch / 'lib/libc10_cuda.so', torch / 'lib/libc10.so', runtime,
         '-Wl,-rpath,$ORIGIN/lib:$ORIGIN/torch/lib', '-Wl,--disable-new-dtags'],
    ]
    for command in commands:
        if subprocess.run(command, check=False).returncode:
            raise BuildError('compilation failed')
    return program


def build(folder: Path, wheel: Path | None, package: str, cuda: str | None) -> Path:
    """Unpacks a wheel, or one that pip downloads, and compiles; returns the program."""
    headers = find_cuda(cuda)
    folder.mkdir(parents=True, exist_ok=True)
    if wheel is not None:
        unpack(wheel_of(wheel), folder)
    elif not (folder / 'torch/lib/libc10_cuda.so').exists():
        scratch = Path(tempfile.mkdtemp(dir=folder))
        try:
            unpack(download(package, scratch), folder)
        finally:
            shutil.rmtree(scratch)
    return compile_all(folder, headers)
