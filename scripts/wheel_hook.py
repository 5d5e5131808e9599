"""wheel_hook.py - what hatchling asks while it builds the wheel: the program, and its files.

The program is built by the Makefile with zig's C compiler (ziglang on PyPI), which links for an
old glibc and for another machine too; what `make install` puts in place goes into the wheel. It
is refused where it needs a newer glibc than its tag says. The environment may have

    MACHINE=aarch64     another machine than this one
    SYSROOT=FOLDER      where its zlib, zstd and cJSON are: usr/include, usr/lib (default: /)
    CJSON=FOLDER        cJSON.c and cJSON.h, to be compiled and linked statically
    WITH_CUDA CUDA_HOME as for make; for another machine the default is WITH_CUDA=no
    WHEEL_BUILD=FOLDER  where to build (default: build/wheel)
"""
from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GLIBC = (2, 28)
# what manylinux has of every system
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+")
# of the installation: a library to link statically is for a compiler on the same machine, a link
# would be a copy, and one trace is enough to begin with
LEFT_OUT = re.compile(r"lib/(libfragsim\.(a|so)|pkgconfig/.*)|share/fragsim/traces/(?!gpt2_small_"
                      r"train_bs8_seq1024\.ndjson\.gz).*")
CJSON = "libcjson.so.1"     # where there is neither a source nor a static one, as in Debian
RUNPATH = "$$ORIGIN/../lib/fragsim:$$ORIGIN/fragsim"


def fail(message: str) -> Any:
    sys.exit(f"wheel: {message}")


class Tree:
    """The libraries of a system: Debian's folders, or lib64 and lib."""

    def __init__(self, root: Path, machine: str) -> None:
        usr = root / "usr"
        triplet = f"{machine}-linux-gnu"
        self.root = root
        self.libraries = [usr / "lib" / triplet, usr / "lib64", usr / "lib"]
        self.headers = [usr / "include", usr / "include" / triplet]

    def find(self, name: str, folders: list[Path]) -> Path:
        for folder in folders:
            if (folder / name).exists():
                return folder / name
        return fail(f"{name} is in none of {', '.join(map(str, folders))}")

    def licence(self, package: str) -> Path:
        names = [f"usr/share/doc/{package}/copyright", f"usr/share/licenses/{package}/LICENSE"]
        return self.find("", [self.root / x for x in names if (self.root / x).exists()]
                         or fail(f"no licence text of {package}: neither of {', '.join(names)}"))


def run(words: list[str], **more: Any) -> None:
    done = subprocess.run(words, check=False, stdout=sys.stderr, **more)
    if done.returncode:
        fail(f"{words[0]} ended with {done.returncode}")


def compile_cjson(source: Path, compiler: str, target: str, place: Path) -> None:
    shutil.copy(source / "cJSON.h", place / "include" / "cjson")
    run([*compiler.split(), "cc", "-target", target, "-O2", "-fPIC", "-fstack-protector-strong",
         "-c", "-o", str(place / "cJSON.o"), str(source / "cJSON.c")])
    run([*compiler.split(), "ar", "rcs", str(place / "lib" / "libcjson.a"), str(place / "cJSON.o")])


def gather(tree: Tree, compiler: str, target: str, place: Path) -> list[Path]:
    """Headers and libraries alone in a folder, as those of this system's glibc must not be seen.

    Returns the shared libraries that have to go with the program.
    """
    shutil.rmtree(place, ignore_errors=True)
    source = os.environ.get("CJSON")
    (place / "include" / "cjson").mkdir(parents=True)
    for name in ("zlib.h", "zconf.h", "zstd.h", *(() if source else ("cjson/cJSON.h",))):
        shutil.copy(tree.find(name, tree.headers), place / "include" / name)
    libraries = place / "lib"
    libraries.mkdir()
    for name in ("libz.a", "libzstd.a"):
        shutil.copy(tree.find(name, tree.libraries), libraries)
    if source:
        compile_cjson(Path(source), compiler, target, place)
        return []
    if any((x / "libcjson.a").exists() for x in tree.libraries):
        shutil.copy(tree.find("libcjson.a", tree.libraries), libraries)
        return []
    shutil.copy(tree.find(CJSON, tree.libraries).resolve(), libraries / CJSON)
    (libraries / "libcjson.so").symlink_to(CJSON)
    return [libraries / CJSON]


def zig() -> tuple[str, Path]:
    """The command, the same each time so that nothing is built again; and zig's licence."""
    import ziglang
    folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = f"{os.environ['PATH']}:{folder}"
    command = "python-zig" if shutil.which("python-zig") else f"{sys.executable} -m ziglang"
    return command, Path(str(ziglang.__file__)).parent / "LICENSE"


def cuda(machine: str) -> tuple[dict[str, str], Path | None]:
    """What make is told about CUDA, and NVIDIA's licence where its runtime is linked in."""
    home = Path(os.environ.get("CUDA_HOME") or "/usr/local/cuda")
    wanted = os.environ.get("WITH_CUDA") or ("auto" if machine == platform.machine() else "no")
    there = (home / "include" / "cuda_runtime_api.h").exists()
    if wanted == "no" or wanted == "auto" and not there:
        return {"WITH_CUDA": "no"}, None
    texts = [home / "EULA.txt", *home.glob("dist-info/nvidia_cuda_runtime-*/licenses/License.txt"),
             *Path("/usr/share/doc").glob("cuda-cudart-dev-*/copyright")]
    found = [x for x in texts if x.exists()]
    if not found:
        fail(f"no licence text of the CUDA runtime below {home}")
    return {"WITH_CUDA": "yes", "CUDA_HOME": str(home)}, found[0]


def make(root: Path, targets: list[str], settings: dict[str, str]) -> None:
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("MAKE", "MFLAGS")) and k not in ("CC", "BUILD", "SAN", "DESTDIR")}
    words = [f"{k}={v}" for k, v in settings.items()]
    run(["make", f"-j{os.cpu_count()}", *targets, *words], cwd=root, env=env)


def installed(stage: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(stage.rglob("*")):
        name = str(path.relative_to(stage))
        if path.is_file() and not path.is_symlink() and not LEFT_OUT.fullmatch(name):
            yield path, name


def check_needs(path: Path, shipped: set[str]) -> None:
    """The tag promises an old glibc, and no library that a system may lack."""
    told = subprocess.run(["readelf", "-dVW", str(path)], check=True, capture_output=True,
                          text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    newest = max(tuple(map(int, x)) for x in re.findall(r"GLIBC_(\d+)\.(\d+)", told))
    if newest > GLIBC:
        fail(f"{path.name} needs glibc {newest[0]}.{newest[1]}, newer than {GLIBC[0]}.{GLIBC[1]}")
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", told):
        if not SYSTEM.fullmatch(name) and name not in shipped:
            fail(f"{path.name} needs {name}, which is not in the wheel")


class Hook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":       # with the program that FRAGSIM or the PATH names
            return
        root = Path(self.root)
        machine = os.environ.get("MACHINE") or platform.machine()
        folder = Path(os.environ.get("WHEEL_BUILD") or root / "build" / "wheel") / machine
        tree = Tree(Path(os.environ.get("SYSROOT") or "/"), machine)
        compiler, zig_licence = zig()
        os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(folder.parent / "zig-cache"))
        target = f"{machine}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"
        shared = gather(tree, compiler, target, folder / "with")
        about_cuda, cuda_licence = cuda(machine)
        stage = folder / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        make(root, ["all", "install"], {
            "BUILD": str(folder / "build"), "DESTDIR": str(stage), "prefix": "", **about_cuda,
            "CC": f"{compiler} cc -target {target}", "AR": f"{compiler} ar", "CFLAGS": "-O2",
            "CPPFLAGS": f"-I{folder}/with/include", "LDFLAGS": f"-s -L{folder}/with/lib"
            + f" '-Wl,-rpath,{RUNPATH}'" * bool(shared)})
        for library in shared:
            shutil.copy(library, stage / "lib" / "fragsim")
        for name, text in (("zlib", tree.licence("zlib1g")), ("zstd", tree.licence("libzstd1")),
                           ("cjson", tree.licence("libcjson1")), ("zig", zig_licence),
                           ("cuda", cuda_licence)):
            if text:
                copy = stage / "share" / "doc" / "fragsim" / f"copyright.{name}"
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(text, copy)
        self.add(stage, {x.name for x in shared}, build_data)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{GLIBC[0]}_{GLIBC[1]}_{machine}"

    @staticmethod
    def add(stage: Path, shipped: set[str], build_data: dict[str, Any]) -> None:
        for path, name in installed(stage):
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    check_needs(path, shipped)
            if name.startswith("bin/"):
                build_data["shared_scripts"][str(path)] = name[4:]
            else:
                build_data["shared_data"][str(path)] = name
