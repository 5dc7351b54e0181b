"""Other machines, as far as one can have them here: Pythons of other versions, LLVM's C++ library, arm64 by qemu.

Everything is made under build/portability/ and kept there. Packages come from the package index, compilers, qemu and
an arm64 Python from Debian, unpacked and not installed. Who lacks one of these gets `Unavailable` with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "portability"
PACKAGES = (
    "numpy", "msgspec", "duckdb", "hnswlib>=0.8,<0.9", "rank-bm25", "watchfiles", "click", "rich", "mcp>=2.0",
    "starlette", "uvicorn", "pyyaml", "pathspec", "pypdf",
)  # fmt: skip
WHEELS = ("numpy", "msgspec", "duckdb", "rank-bm25", "watchfiles", "click", "rich", "pyyaml", "pathspec")
LLVM = (
    "clang-14", "libclang-cpp14", "libllvm14", "libclang-common-14-dev", "libclang1-14", "libc++-14-dev", "libc++1-14",
    "libc++abi1-14", "libc++abi-14-dev", "libunwind-14", "libunwind-14-dev",
)  # fmt: skip
CROSS = (
    "qemu-user-static", "g++-12-aarch64-linux-gnu", "gcc-12-aarch64-linux-gnu", "gcc-12-aarch64-linux-gnu-base",
    "cpp-12-aarch64-linux-gnu", "libstdc++-12-dev-arm64-cross", "libgcc-12-dev-arm64-cross", "libc6-dev-arm64-cross",
    "libc6-arm64-cross", "linux-libc-dev-arm64-cross", "libgcc-s1-arm64-cross", "libstdc++6-arm64-cross",
    "binutils-aarch64-linux-gnu",
)  # fmt: skip
ARM_PYTHON = (
    "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "python3.11", "libc6", "libstdc++6",
    "libgcc-s1", "zlib1g", "libexpat1", "libssl3", "libffi8", "libsqlite3-0", "libbz2-1.0", "liblzma5", "libuuid1",
    "libncursesw6", "libtinfo6", "libreadline8", "libcrypt1", "libgomp1",
)  # fmt: skip
PLATFORMS = (
    "manylinux2014_aarch64", "manylinux_2_17_aarch64", "manylinux_2_26_aarch64", "manylinux_2_27_aarch64",
    "manylinux_2_28_aarch64",
)  # fmt: skip


class Unavailable(Exception):
    """This machine cannot be had here, and why."""


def _run(command: Sequence[str | Path], *, cwd: Path | None = None, **settings: str) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd, env=os.environ | settings, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise Unavailable(f"{Path(command[0]).name}: {lines[-1]}")


def _require(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            raise Unavailable(f"there is no {program} here")


# --- other Pythons -----------------------------------------------------------------------------------


def python(version: str) -> Path:
    """A Python of this version with our packages; the last of its patch releases that is installed here."""
    made = BUILD / f"python{version}" / "bin" / "python"
    if not made.exists():
        beside = sorted(Path(sys.base_prefix).parent.glob(f"{version}.*/bin/python{version}"))
        found = str(beside[-1]) if beside else shutil.which(f"python{version}")
        if found is None:
            raise Unavailable(f"Python {version} is not installed")
        _run([found, "-m", "venv", made.parents[1]])
    if not (made.parents[1] / "done").exists():
        _run([made, "-m", "pip", "install", "-q", *PACKAGES])
        (made.parents[1] / "done").touch()
    return made


# --- hnswlib, compiled here --------------------------------------------------------------------------


def _sources() -> Path:
    """hnswlib's source and pybind11's headers."""
    folder = BUILD / "sources"
    if not (folder / "pybind11").is_dir():
        downloads = folder / "downloads"
        downloads.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", downloads]
        _run([*pip, "--no-binary", "hnswlib", "hnswlib==0.8.0"])
        _run([*pip, "pybind11"])
        shutil.unpack_archive(next(downloads.glob("hnswlib-*.tar.gz")), folder)
        shutil.unpack_archive(next(downloads.glob("pybind11-*.whl")), folder, "zip")
    return folder


def _compile(compiler: Sequence[str | Path], target: Path, numpy_headers: Path, **settings: str) -> None:
    sources = _sources()
    bindings = sources / "hnswlib-0.8.0"
    headers = [
        bindings / "hnswlib",
        sources / "pybind11" / "include",
        sysconfig.get_paths()["include"],
        numpy_headers,
    ]
    target.parent.mkdir(parents=True, exist_ok=True)
    _run(
        [
            *compiler, "-O3", "-std=c++14", "-fPIC", "-shared", "-fvisibility=hidden", "-w",
            '-DVERSION_INFO="0.8.0"', *(f"-I{folder}" for folder in headers),
            bindings / "python_bindings" / "bindings.cpp", "-o", target,
        ],
        **settings,
    )  # fmt: skip


def _debian(names: Sequence[str], folder: Path, *options: str) -> Path:
    """Debian packages, unpacked below a folder."""
    _require("apt-get", "dpkg")
    if not (folder / "done").exists():
        downloads = folder / "downloads"
        downloads.mkdir(parents=True, exist_ok=True)
        _run(["apt-get", *options, "download", *names], cwd=downloads)
        for package in sorted(downloads.glob("*.deb")):
            _run(["dpkg", "-x", package, folder])
        shutil.rmtree(downloads)
        (folder / "done").touch()
    return folder


def libcxx() -> Path:
    """A folder with an hnswlib for this Python that LLVM's C++ library was built into."""
    target = BUILD / "libcxx" / "site" / f"hnswlib{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not target.exists():
        import numpy as np

        root = _debian(LLVM, BUILD / "libcxx" / "root")
        llvm, libraries = root / "usr/lib/llvm-14", root / "usr/lib/x86_64-linux-gnu"
        compiler = [
            llvm / "bin/clang++", "-march=native", "-stdlib=libc++", "-stdlib++-isystem", llvm / "include/c++/v1",
            "-L", llvm / "lib", f"-Wl,-rpath,{libraries}",
        ]  # fmt: skip
        _compile(compiler, target, Path(np.get_include()), LD_LIBRARY_PATH=f"{libraries}:{llvm / 'lib'}")
    return target.parent


# --- arm64 -------------------------------------------------------------------------------------------


def arm64() -> list[str]:
    """A command that runs Debian's arm64 Python 3.11 with aarch64 wheels, and an hnswlib cross-compiled by GNU's g++."""
    if sys.version_info[:2] != (3, 11):
        raise Unavailable("the wheels and headers are those of Python 3.11; run this with 3.11")
    folder = BUILD / "arm64"
    cross = _debian(CROSS, folder / "cross")
    root = _debian(ARM_PYTHON, folder / "root", *_arm_repository(folder / "apt"))
    site = _wheels(folder / "site")
    target = site / "hnswlib.cpython-311-aarch64-linux-gnu.so"
    if not target.exists():
        tools, sysroot = cross / "usr/bin", cross / "usr/aarch64-linux-gnu"
        compiler = [
            tools / "aarch64-linux-gnu-g++-12", f"-B{tools}/aarch64-linux-gnu-", f"--sysroot={cross}", "-nostdinc++",
            "-isystem", sysroot / "include/c++/12", "-isystem", sysroot / "include/c++/12/aarch64-linux-gnu",
            "-isystem", sysroot / "include", f"-B{sysroot}/lib", f"-L{sysroot}/lib",
            f"-L{cross}/usr/lib/gcc-cross/aarch64-linux-gnu/12",
        ]  # fmt: skip
        _compile(
            compiler, target, site / "numpy/_core/include",
            LD_LIBRARY_PATH=str(cross / "usr/lib/x86_64-linux-gnu"), PATH=f"{tools}:{os.environ['PATH']}",
        )  # fmt: skip
    return [
        str(cross / "usr/bin/qemu-aarch64-static"), "-L", str(root),
        "-E", f"LD_LIBRARY_PATH={root}/usr/lib/aarch64-linux-gnu", "-E", f"PYTHONPATH={site}",
        str(root / "usr/bin/python3.11"),
    ]  # fmt: skip


def _wheels(site: Path) -> Path:
    if not (site / "done").exists():
        downloads = site.with_name("wheels")
        platforms = [part for name in PLATFORMS for part in ("--platform", name)]
        abis = [part for name in ("cp311", "abi3", "none") for part in ("--abi", name)]
        _run([
            sys.executable, "-m", "pip", "download", "-q", *platforms, "--only-binary=:all:",
            "--python-version", "3.11", "--implementation", "cp", *abis, "-d", downloads, *WHEELS,
        ])  # fmt: skip
        for wheel in sorted(downloads.glob("*.whl")):
            shutil.unpack_archive(wheel, site, "zip")
        (site / "done").touch()
    return site


def _arm_repository(folder: Path) -> list[str]:
    """apt's options for a state of its own that knows Debian's arm64 packages."""
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text("deb [arch=arm64] http://deb.debian.org/debian bookworm main\n")
    settings = {
        "Dir::State": folder, "Dir::State::lists": folder / "lists", "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": "-", "Dir::State::status": "/dev/null",
        "APT::Architecture": "arm64", "APT::Architectures": "arm64",
    }  # fmt: skip
    options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
    if not (folder.parent / "root" / "done").exists():
        _require("apt-get")
        _run(["apt-get", *options, "update"])
    return options
