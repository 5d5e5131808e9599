"""wheel_hook.py - what hatchling asks while it builds a wheel: the licences, the program, its files.

The program is built by the Makefile with zig's C compiler (ziglang on PyPI), which links for an
old glibc, for musl and for macOS; what `make install` puts in place goes into the wheel. It is
refused where it needs more of a system than its tag says. The environment may have

    TAG=musllinux_1_2_aarch64   for which systems (default: manylinux_2_28 of this machine)
    SOURCES=FOLDER      of the linked libraries, as scripts/wheel-sources.sh gets them; without it
                        this machine's libraries are linked, SQLite's where it is
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
from hatchling.metadata.plugin.interface import MetadataHookInterface

GLIBC = (2, 28)
# a wheel's tag, and what zig calls that system
TARGETS = {
    **{f"manylinux_2_28_{x}": f"{x}-linux-gnu.2.28" for x in ("x86_64", "aarch64")},
    **{f"musllinux_1_2_{x}": f"{x}-linux-musl" for x in ("x86_64", "aarch64")},
    "macosx_11_0_arm64": "aarch64-macos.11.0", "macosx_11_0_x86_64": "x86_64-macos.11.0",
}
# what manylinux and musllinux have of every system
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread)\.so(\.\d+)?|ld-linux-[\w-]+\.so\.\d+")
# of each library that is linked: its licence, its headers, its sources, and how they are compiled
LIBRARIES = {
    "cjson": ("LICENSE", ["cJSON.h"], ["cJSON.c"], []),
    "sqlite3": ("LICENSE.md", ["sqlite3.h"], ["sqlite3.c"], ["-DSQLITE_OMIT_LOAD_EXTENSION"]),
    # an old name of macOS makes zlib take fdopen() for missing
    "zlib": ("LICENSE", ["zlib.h", "zconf.h"], ["*.c"], ["-DHAVE_UNISTD_H", "-Dfdopen=fdopen"]),
    "libzstd": ("LICENSE", ["lib/zstd.h", "lib/zstd_errors.h"],
                [f"lib/{x}/*.c" for x in ("common", "compress", "decompress")],
                ["-DXXH_NAMESPACE=ZSTD_", "-DZSTD_DISABLE_ASM"]),
}
ARCHIVES = {"cjson": "libcjson.a", "sqlite3": "libsqlite3.a", "zlib": "libz.a", "libzstd": "libzstd.a"}
# of the installation: a library to link statically is for a compiler on the same machine, a link
# would be a copy, and one trace is enough to begin with
LEFT_OUT = re.compile(r"lib/(libfragsim\.(a|so)|pkgconfig/.*)|share/fragsim/traces/(?!gpt2_small_"
                      r"train_bs8_seq1024\.ndjson\.gz).*")
CJSON = "libcjson.so.1"     # where there is no static one, as in Debian
LICENCES = "licenses"       # the folder, made anew: texts of what is linked
RUNPATH = "$$ORIGIN/../lib/fragsim:$$ORIGIN/fragsim"


def fail(message: str) -> Any:
    sys.exit(f"wheel: {message}")


def run(words: list[str], **more: Any) -> None:
    done = subprocess.run(words, check=False, stdout=sys.stderr, **more)
    if done.returncode:
        fail(f"{words[0]} ended with {done.returncode}")


def tag() -> str:
    wanted = os.environ.get("TAG") or f"manylinux_2_28_{platform.machine()}"
    return wanted if wanted in TARGETS else fail(f"TAG={wanted}: there is {', '.join(TARGETS)}")


def find(name: str, folders: list[Path]) -> Path:
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    return fail(f"{name} is in none of {', '.join(map(str, folders))}")


def archive_places() -> list[Path]:
    return [Path("/usr/lib") / f"{platform.machine()}-linux-gnu", Path("/usr/lib64"), Path("/usr/lib")]


def linked() -> list[str]:
    """Without SQLite where this machine has no static one, as on Fedora."""
    has = os.environ.get("SOURCES") or any((x / ARCHIVES["sqlite3"]).exists() for x in archive_places())
    return [x for x in LIBRARIES if has or x != "sqlite3"]


def compile_library(name: str, source: Path, compiler: str, target: str, place: Path) -> None:
    _, headers, files, flags = LIBRARIES[name]
    objects = place / name
    objects.mkdir()
    for header in headers:
        shutil.copy(source / header, place / "include" / ("cjson" if name == "cjson" else ""))
    run([*compiler.split(), "cc", "-target", target, "-O2", "-w", "-fPIC", "-fstack-protector-strong",
         *flags, "-c", *(str(x) for f in files for x in sorted(source.glob(f)))], cwd=objects)
    run([*compiler.split(), "ar", "rcs", str(place / "lib" / ARCHIVES[name]),
         *(str(x) for x in sorted(objects.glob("*.o")))])


def gather(compiler: str, target: str, place: Path) -> list[Path]:
    """Headers and libraries alone in a folder, as those of this system's libc must not be seen.

    Returns the shared libraries that have to go with the program.
    """
    shutil.rmtree(place, ignore_errors=True)
    (place / "include" / "cjson").mkdir(parents=True)
    libraries = place / "lib"
    libraries.mkdir()
    if os.environ.get("SOURCES"):
        for name in LIBRARIES:
            compile_library(name, Path(os.environ["SOURCES"]) / name, compiler, target, place)
        return []
    machine = platform.machine()
    if target != TARGETS.get(f"manylinux_2_28_{machine}"):
        fail(f"{tag()} is for another system than this one: give SOURCES, or use `make wheel`")
    headers = [Path("/usr/include"), Path("/usr/include") / f"{machine}-linux-gnu"]
    places = archive_places()
    # without the header the Makefile leaves SQLite out
    for name in ("zlib.h", "zconf.h", "zstd.h", "zstd_errors.h", "cjson/cJSON.h", *(["sqlite3.h"] * ("sqlite3" in linked()))):
        shutil.copy(find(name, headers), place / "include" / name)
    static = any((x / ARCHIVES["cjson"]).exists() for x in places)
    for name in linked():
        if name != "cjson" or static:
            shutil.copy(find(ARCHIVES[name], places), libraries)
    if static:
        return []
    shutil.copy(find(CJSON, places).resolve(), libraries / CJSON)
    (libraries / "libcjson.so").symlink_to(CJSON)
    return [libraries / CJSON]


def licence(name: str) -> Path | None:
    """The text of a library that is linked; None: it is not here."""
    debian = {"cjson": "libcjson1", "sqlite3": "libsqlite3-0", "zlib": "zlib1g", "libzstd": "libzstd1"}
    places = [Path("/usr/share/doc") / debian[name] / "copyright",
              Path("/usr/share/licenses") / name.replace("libzstd", "zstd") / "LICENSE"]
    if os.environ.get("SOURCES"):
        places = [Path(os.environ["SOURCES"]) / name / LIBRARIES[name][0]]
    return next((x for x in places if x.exists()), None)


def zig() -> tuple[str, Path]:
    """The command, the same each time so that nothing is built again; and zig's licence."""
    import ziglang
    folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = f"{os.environ['PATH']}:{folder}"
    command = "python-zig" if shutil.which("python-zig") else f"{sys.executable} -m ziglang"
    return command, Path(str(ziglang.__file__)).parent / "LICENSE"


def cuda() -> tuple[dict[str, str], Path | None]:
    """What make is told about CUDA, and NVIDIA's licence where its runtime is linked in."""
    home = Path(os.environ.get("CUDA_HOME") or "/usr/local/cuda")
    here = tag() == f"manylinux_2_28_{platform.machine()}"
    wanted = os.environ.get("WITH_CUDA") or ("auto" if here else "no")
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


def native(root: Path, compiler: str, target: str, folder: Path) -> dict[str, str]:
    """A program that runs here, where the wheel's does not: it prints the schemas of its documents."""
    own = TARGETS[f"manylinux_2_28_{platform.machine()}"]
    if target == own:
        return {}
    gather(compiler, own, folder / "with")
    program = folder / "build" / "fragsim"
    make(root, [str(program)], {
        "BUILD": str(program.parent), "WITH_CUDA": "no", "CC": f"{compiler} cc -target {own}",
        "AR": f"{compiler} ar", "CFLAGS": "-O2", "CPPFLAGS": f"-I{folder}/with/include",
        "LDFLAGS": f"-L{folder}/with/lib"})
    return {"NATIVE": str(program)}


def installed(stage: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(stage.rglob("*")):
        name = str(path.relative_to(stage))
        if path.is_file() and not path.is_symlink() and not LEFT_OUT.fullmatch(name):
            yield path, name


def check_needs(path: Path, shipped: set[str]) -> None:
    """The tag promises an old glibc, and no library that a system may lack."""
    told = subprocess.run(["readelf", "-dVW", str(path)], check=True, capture_output=True,
                          text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    newest = max((tuple(map(int, x)) for x in re.findall(r"GLIBC_(\d+)\.(\d+)", told)), default=GLIBC)
    if newest > GLIBC:
        fail(f"{path.name} needs glibc {newest[0]}.{newest[1]}, newer than {GLIBC[0]}.{GLIBC[1]}")
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", told):
        if not SYSTEM.fullmatch(name) and name not in shipped:
            fail(f"{path.name} needs {name}, which is not in the wheel")


class Licences(MetadataHookInterface):
    """A wheel carries the texts of all that is linked into it; indexes look for them."""

    def update(self, metadata: dict[str, Any]) -> None:
        folder = Path(self.root) / LICENCES
        shutil.rmtree(folder, ignore_errors=True)
        metadata["license-files"] = ["LICENSE"]
        if os.environ.get("SDIST"):
            return
        folder.mkdir()
        texts = {name: licence(name) for name in linked()}
        for name, text in {**texts, "zig": zig()[1], "cuda": cuda()[1]}.items():
            if text:
                shutil.copyfile(text, folder / f"{name}.txt")
        metadata["license-files"] += [f"{LICENCES}/*.txt"]


class Hook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":       # with the program that FRAGSIM or the PATH names
            return
        root = Path(self.root)
        lacking = [x for x in linked() if not (root / LICENCES / f"{x}.txt").exists()]
        if lacking:
            fail(f"no licence text of {', '.join(lacking)}")
        target = TARGETS[tag()]
        folder = Path(os.environ.get("WHEEL_BUILD") or root / "build" / "wheel") / tag()
        compiler, _ = zig()
        os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(folder.parent / "zig-cache"))
        shared = gather(compiler, target, folder / "with")
        stage = folder / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        make(root, ["all", "install"], {
            "BUILD": str(folder / "build"), "DESTDIR": str(stage), "prefix": "", **cuda()[0],
            **native(root, compiler, target, folder.parent / "native"),
            "SYSTEM": "Darwin" if "macos" in target else "Linux",
            "WITH_RECORDER": "yes" if "gnu" in target else "no",
            "CC": f"{compiler} cc -target {target}" + " -dynamic" * ("musl" in target),
            "AR": f"{compiler} ar", "CFLAGS": "-O2",
            "CPPFLAGS": f"-I{folder}/with/include", "LDFLAGS": f"-s -L{folder}/with/lib"
            + f" '-Wl,-rpath,{RUNPATH}'" * bool(shared)})
        for library in shared:
            shutil.copy(library, stage / "lib" / "fragsim")
        self.add(stage, {x.name for x in shared}, build_data)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag()}"

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
