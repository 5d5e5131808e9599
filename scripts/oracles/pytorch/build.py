"""build.py - builds the oracle from a torch wheel, of any version from 2.1 on.

Of the wheel only two libraries and some headers are unpacked. The fake CUDA runtime is built with
the file name and the version node that libc10_cuda.so asks for. What asks for CUDA 12 gets the
headers of CUDA 12, which pip has too. Up to 2.7 there is a libcuda.so.1 as well, up to 2.6 the
strings of C++ are the old ones.
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
NEWEST = '2.15'
CUDA_12 = ('nvidia-cuda-runtime-cu12==12.8.90', 'nvidia-cuda-nvcc-cu12==12.8.93')
PLATFORMS = ('manylinux1_x86_64', 'manylinux_2_28_x86_64')
PYTHON = '3.11'                 # all of these have a wheel for it
WANTED = ('torch/lib/libc10.so', 'torch/lib/libc10_cuda.so', 'torch/version.py',
          'torch/include/c10/', 'torch/include/torch/headeronly/')


class BuildError(Exception):
    """The oracle cannot be built; says why."""


def cuda_13(given: str | None) -> list[Path]:
    """The folder that holds cuda.h."""
    places = [given, os.environ.get('CUDA_INC'), '/usr/local/cuda/include',
              *sorted(glob.glob('/usr/local/cuda-13*/include'))]
    for place in filter(None, places):
        if (Path(place) / 'cuda.h').exists():
            return [Path(place)]
    raise BuildError('no cuda.h: name the headers of CUDA 13 with --cuda-include')


def cuda_12(folder: Path) -> list[Path]:
    """The headers of CUDA 12, downloaded where they are not there yet."""
    for package in CUDA_12:
        name = package.partition('==')[0]
        if not (folder / name).exists():
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                wheel = download(package, Path(scratch))
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(folder / name, [
                        one for one in archive.namelist() if '/include/' in one])
    return sorted(folder.glob('nvidia-cuda-*-cu12/nvidia/*/include'))


def download(package: str, into: Path) -> Path:
    """The wheel of a package, from where pip finds it."""
    command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--no-cache-dir',
               '--only-binary', ':all:', '--python-version', PYTHON, '-d', into, package]
    for platform in PLATFORMS if package.startswith('torch') else ():
        command += ['--platform', platform]
    if subprocess.run(command, check=False).returncode:
        raise BuildError('pip cannot download %s' % package)
    return wheel_of(into)


def wheel_of(place: Path) -> Path:
    """The wheel itself, or the only one of a folder."""
    if place.is_file():
        return place
    wheels = sorted(place.glob('*.whl'))
    if len(wheels) != 1:
        raise BuildError('%s: %d wheels' % (place, len(wheels)))
    return wheels[0]


def version_of(folder: Path) -> int:
    """The N of 2.N of what is unpacked there."""
    found = re.search(r"__version__ = '2\.(\d+)",
                      (folder / 'torch/version.py').read_text(encoding='utf-8'))
    if not found:
        raise BuildError('%s: no torch 2' % folder)
    return int(found[1])


def unpack(wheel: Path, into: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(WANTED)]
        if 'torch/lib/libc10_cuda.so' not in names:
            raise BuildError('%s: a wheel without CUDA' % wheel)
        archive.extractall(into, names)


def compile_all(folder: Path, cuda: str | None) -> Path:
    """A few compilations; returns the program."""
    torch, lib, version = folder / 'torch', folder / 'lib', version_of(folder)
    lib.mkdir(exist_ok=True)
    needed = re.search(rb'libcudart\.so\.(\d+)', (torch / 'lib/libc10_cuda.so').read_bytes())
    if not needed or int(needed[1]) not in (12, 13):
        raise BuildError('libc10_cuda.so asks for neither libcudart.so.12 nor .13')
    runtime = lib / ('libcudart.so.%d' % int(needed[1]))
    driver = lib / 'libcuda.so.1'
    program = folder / 'oracle'
    headers = cuda_13(cuda) if int(needed[1]) == 13 else cuda_12(folder)
    node = lib / (runtime.name + '.map')
    node.write_text('%s { global: cuda*; cu[A-Z]*; fake_*; local: *; };\n' % runtime.name,
                    encoding='utf-8')
    includes = [word for header in (*headers, torch / 'include') for word in ('-isystem', header)]
    cxx, cc = os.environ.get('CXX', 'g++'), os.environ.get('CC', 'gcc')
    warnings = ['-Wall', '-Wextra']
    old = ['-D_GLIBCXX_USE_CXX11_ABI=%d' % (version > 6), '-DTORCH_MINOR=%d' % version]
    shared = ['-fPIC', '-shared']
    commands = [
        [cxx, '-O2', '-std=c++17', *warnings, *shared, *includes, SOURCES / 'fake_cuda.cpp', '-o',
         runtime, '-Wl,-soname,' + runtime.name, '-Wl,--version-script=%s' % node],
        # whatever is asked of it is found in what it needs
        [cc, '-x', 'c', '/dev/null', '-x', 'none', *shared, '-o', driver, '-Wl,-soname,' + driver.name,
         '-Wl,--no-as-needed', runtime, '-Wl,-rpath,$ORIGIN'],
        [cc, '-O2', *warnings, *shared, SOURCES / 'fake_nvml.c', '-o', lib / 'libnvidia-ml.so.1',
         '-Wl,-soname,libnvidia-ml.so.1'],
        [cxx, '-O2', '-std=c++20', *warnings, *old, *includes, SOURCES / 'oracle.cpp', '-o',
         program, torch / 'lib/libc10_cuda.so', torch / 'lib/libc10.so', runtime,
         *(['-Wl,--no-as-needed', driver] if version <= 7 else []),
         '-Wl,-rpath,$ORIGIN/lib:$ORIGIN/torch/lib', '-Wl,--disable-new-dtags'],
    ]
    for command in commands:
        if subprocess.run(command, check=False).returncode:
            raise BuildError('compilation failed')
    return program


def build(folder: Path, wheel: Path | None, version: str, cuda: str | None) -> Path:
    """Unpacks a wheel, or one that pip downloads, and compiles; returns the program."""
    folder.mkdir(parents=True, exist_ok=True)
    if wheel is not None:
        unpack(wheel_of(wheel), folder)
    elif not (folder / 'torch/lib/libc10_cuda.so').exists():
        scratch = Path(tempfile.mkdtemp(dir=folder))
        try:
            unpack(download('torch==%s.*' % version, scratch), folder)
        finally:
            shutil.rmtree(scratch)
    return compile_all(folder, cuda)
