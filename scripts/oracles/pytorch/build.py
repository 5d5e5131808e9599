"""build.py - builds the oracle from a torch wheel, of any version from 2.1 on.

Of the wheel only two libraries and some headers are unpacked. The fake CUDA runtime is built with
the file name and the version node that libc10_cuda.so asks for. What asks for CUDA 12 gets the
headers of CUDA 12, which pip has too. Up to 2.7 there is a libcuda.so.1 as well, up to 2.6 the
strings of C++ are the old ones.
"""
import glob
import os
import re
from pathlib import Path

from case import OracleError
from wheels import fetch, run

SOURCES = Path(__file__).resolve().parent / 'src'
CUDA_12 = {'nvidia-cuda-runtime-cu12==12.8.90': ('nvidia/cuda_runtime/include/',),
           'nvidia-cuda-nvcc-cu12==12.8.93': ('nvidia/cuda_nvcc/include/',)}
ANY_PYTHON = ('--python-version', '3.11', '--platform', 'manylinux1_x86_64',
              '--platform', 'manylinux_2_28_x86_64')    # all of these have a wheel for it
WANTED = ('torch/lib/libc10.so', 'torch/lib/libc10_cuda.so', 'torch/version.py',
          'torch/include/c10/', 'torch/include/torch/headeronly/')


def cuda_13(given: str | None) -> list[Path]:
    """The folder that holds cuda.h."""
    places = [given, os.environ.get('CUDA_INC'), '/usr/local/cuda/include',
              *sorted(glob.glob('/usr/local/cuda-13*/include'))]
    for place in filter(None, places):
        if (Path(place) / 'cuda.h').exists():
            return [Path(place)]
    raise OracleError('no cuda.h: name the headers of CUDA 13 with --cuda-include')


def cuda_12(folder: Path) -> list[Path]:
    """The headers of CUDA 12, downloaded where they are not there yet."""
    fetch(CUDA_12, folder)
    return sorted(folder.glob('nvidia/*/include'))


def version_of(folder: Path) -> int:
    """The N of 2.N of what is unpacked there."""
    found = re.search(r"__version__ = '2\.(\d+)",
                      (folder / 'torch/version.py').read_text(encoding='utf-8'))
    if not found:
        raise OracleError('%s: no torch 2' % folder)
    return int(found[1])


def compile_all(folder: Path, cuda: str | None) -> Path:
    """A few compilations; returns the program."""
    torch, lib, version = folder / 'torch', folder / 'lib', version_of(folder)
    lib.mkdir(exist_ok=True)
    needed = re.search(rb'libcudart\.so\.(\d+)', (torch / 'lib/libc10_cuda.so').read_bytes())
    if not needed or int(needed[1]) not in (12, 13):
        raise OracleError('libc10_cuda.so asks for neither libcudart.so.12 nor .13')
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
        run(command)
    return program


def build(folder: Path, wheel: Path | None, version: str, cuda: str | None) -> Path:
    """Unpacks a wheel, or one that pip downloads, and compiles; returns the program."""
    fetch({'torch==%s.*' % version: WANTED}, folder, wheel, ANY_PYTHON)
    if not (folder / 'torch/lib/libc10_cuda.so').exists():
        raise OracleError('%s: a wheel without CUDA' % (wheel or folder))
    return compile_all(folder, cuda)
