"""The folders that become layers and functions: built once per content, without Docker.

A bundle is named by a hash of all that goes into it and appears under its name only when complete,
so a second synth builds nothing and an interrupted one leaves nothing half made. Why this is not
CDK's own bundling: `docs/adr/0001-bundles-are-built-beside-cdk.md`.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from packaging.markers import Marker

import bucketcast
from bucketcast import targets
from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast.settings.options import options_of
from bucketcast_cdk import package
from bucketcast_cdk.platform import Platform

CORE: Final = "core"
CLIENT: Final = "client-"
_HERE: Final = Path(__file__).resolve().parent
_IN_WHEEL: Final = _HERE / "bundled"
ROOT: Final = _IN_WHEEL if _IN_WHEEL.is_dir() else _HERE.parent
"""The folder with `functions/`, `glue_jobs/` and `layers/`: the checkout's, or the wheel's."""
# Part of every hash: raise it when how bundles are built changes.
_RECIPE: Final = "1"
_IGNORED: Final = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")
_COMMAND: Final = frozenset({"cli", "command", "command.py", "console", "terminal"})
"""Only the command line needs these: a change of them redeploys no function and no job."""
_SPARE: Final = ("__init__.py", "limits.py", "delivery/__init__.py", "delivery/policy.py")
"""The modules that `functions/startup.py` needs where the layer is missing."""
# `name==1.0 ; marker \` and the hashes after it
_MARKER: Final = re.compile(r"^(?P<pin>[^;#\s][^;#]*?)\s*;\s*(?P<marker>[^\\#]+?)\s*(?P<rest>\\?)$")


class Bundles:
    """Builds bundles of the sources in `root` for one platform, into `cache_folder(root)`."""

    def __init__(self, root: Path, platform: Platform) -> None:
        self._root = root
        self._platform = platform
        self._cache = cache_folder(root)
        self._interpreter = platform.interpreter()

    @property
    def has_bytecode(self) -> bool:
        """True if bundles have bytecode, without which each cold start compiles the source."""
        return self._interpreter is not None

    def core(self) -> Path:
        """Build the layer of first-party code."""
        source = package_folder(self._root)

        def fill(out: Path) -> None:
            shutil.copytree(source, out / "python" / source.name, ignore=_names_to_skip)

        return self._build("core", _contents(source), fill)

    def layer(self, name: str) -> Path | None:
        """Build a layer: `core`, `shared`, `gateway`, `jobs` or `client-<kind>`.

        None for a client that needs no library.

        Raises:
            ConfigErrors: as `packages`.
        """
        if name == CORE:
            return self.core()
        return self.packages(name, layer_folder(self._root, name) / "requirements.txt")

    def function(self, name: str) -> Path:
        """Build a function's folder, under the dotted path of this repository.

        Beside it is `startup.py`, with a copy of the modules that it needs without the package.
        """
        inside = Path("functions") / name
        source = self._root / inside
        core = package_folder(self._root)
        beside = {
            "startup.py": self._root / "functions" / "startup.py",
            **{f"spare/{core.name}/{path}": core / path for path in _SPARE},
        }

        def fill(out: Path) -> None:
            shutil.copytree(source, out / inside, ignore=_names_to_skip)
            for path, file in beside.items():
                (out / "functions" / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, out / "functions" / path)

        inputs = (*_contents(source), *(file.read_text() for file in beside.values()))
        return self._build(f"function-{name}", inputs, fill)

    def packages(self, label: str, requirements: Path) -> Path | None:
        """Build a layer of the wheels that a requirements file pins; None when it pins none.

        Raises:
            ConfigErrors: pip found no wheels for the platform, or could not get them.
        """
        wanted = for_platform(requirements.read_text(), self._platform)
        if not any(line and not line.startswith(("#", " ")) for line in wanted.splitlines()):
            return None

        def fill(out: Path) -> None:
            sys.stderr.write(f"Bundling {label} for python{self._platform.python} ...\n")
            pinned = out / "requirements.txt"
            pinned.write_text(wanted)
            self._install(requirements, pinned, out / "python")
            pinned.unlink()

        inputs = (wanted, *self._platform.pip_options, self._platform.machine)
        return self._build(label, inputs, fill)

    def jobs(self) -> Path:
        """Build the jobs' package, a zip file: our code, and what it needs beside Glue's own.

        Raises:
            ConfigErrors: as `packages`.
        """
        clients = [f"{CLIENT}{kind}" for kind in mirrors()]
        layers = [path for name in ("shared", "jobs", *clients) if (path := self.layer(name))]
        ours = [package_folder(self._root), self._root / "glue_jobs"]

        def fill(out: Path) -> None:
            with tempfile.TemporaryDirectory() as scratch:
                for source in ours:
                    shutil.copytree(source, Path(scratch) / source.name, ignore=_names_to_skip)
                modules = [layer / "python" for layer in layers]
                package.write(out / package.NAME, [*modules, Path(scratch)], ["__pycache__"])

        inputs = [path.name for path in layers]
        for source in ours:
            inputs += _contents(source)
        return self._build("jobs", inputs, fill) / package.NAME

    def packed(self, bundle: Path) -> Path:
        """Pack a bundle into a zip file beside it, once: CDK packs a folder for each assembly."""
        file = self._cache / f"{bundle.name}.zip"
        with _locked(self._cache):
            if not file.exists():
                with tempfile.TemporaryDirectory(dir=self._cache, prefix=".") as scratch:
                    whole = Path(scratch) / file.name
                    package.pack(whole, bundle)
                    whole.replace(file)
        return file

    def _install(self, requirements: Path, pinned: Path, target: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
        command += ["--disable-pip-version-check", "--no-input", "--require-hashes"]
        command += ["--only-binary=:all:", *self._platform.pip_options]
        command += ["--target", str(target), "--requirement", str(pinned)]
        # The requirements come from this repository, with hashes.
        result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if result.returncode:
            raise ConfigErrors(
                [
                    ConfigError(
                        str(requirements.relative_to(self._root)),
                        f"pip could not install it for python{self._platform.python} "
                        f"on {self._platform.machine}:\n{result.stderr.strip()[-1_000:]}\n",
                        "each line needs a wheel for it, and the package index must be reachable",
                    )
                ]
            )
        shutil.rmtree(target / "bin", ignore_errors=True)

    def _build(self, label: str, inputs: Iterable[str], fill: Callable[[Path], None]) -> Path:
        digest = hashlib.sha256(_RECIPE.encode())
        bytecode = self._platform.python if self.has_bytecode else "none"
        for part in (bytecode, *inputs):
            digest.update(b"\0" + part.encode())
        bundle = self._cache / f"{label}-{digest.hexdigest()[:20]}"
        if bundle.exists():
            return bundle
        self._cache.mkdir(parents=True, exist_ok=True)
        with _locked(self._cache):
            if not bundle.exists():
                self._fill(bundle, fill)
        return bundle

    def _fill(self, bundle: Path, fill: Callable[[Path], None]) -> None:
        with tempfile.TemporaryDirectory(dir=self._cache, prefix=".") as scratch:
            out = Path(scratch) / "bundle"
            out.mkdir()
            fill(out)
            self._compile(out)
            out.rename(bundle)

    def _compile(self, out: Path) -> None:
        """Add bytecode that is never compared with its source: times in zip files are not real."""
        if self._interpreter is None:
            return
        command = [self._interpreter, "-m", "compileall", "-q", "-j", "0"]
        command += ["--invalidation-mode", "unchecked-hash", "-s", str(out), str(out)]
        # Failures are ignored: a package may have templates that are not Python, and all runs
        # without bytecode too.
        subprocess.run(command, capture_output=True, check=False)  # noqa: S603


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other programs from building here: those that begin together build all once."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def package_folder(root: Path) -> Path:
    """Return the folder of the package `bucketcast`; a wheel has it once, beside this package."""
    folder = root / "layers" / "core" / "python" / "bucketcast"
    return folder if folder.is_dir() else Path(bucketcast.__file__).resolve().parent


def layer_folder(root: Path, name: str) -> Path:
    """Return the folder of a layer: `core`, `shared`, `gateway`, `jobs` or `client-<kind>`."""
    if name == CORE:
        return package_folder(root)
    if name.startswith(CLIENT):
        return root / "layers" / "clients" / name.removeprefix(CLIENT)
    return root / "layers" / name


def cache_folder(root: Path) -> Path:
    """Return the folder for bundles: in the checkout, or in the user's cache folder."""
    if root != _IN_WHEEL:
        return root / ".local" / "bundles"
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "bucketcast" / "bundles"


def mirrors() -> list[str]:
    """Return the kinds of target that may be mirrors, which a job reads."""
    declared: dict[str, Any] = {kind: targets.load(kind).Settings for kind in targets.kinds()}
    return [
        kind
        for kind, settings in declared.items()
        if "format" in (options := options_of(settings)) and "namespace" in options["format"].type
    ]


def for_platform(requirements: str, platform: Platform) -> str:
    """Drop other platforms' requirements: pip reads the running interpreter's markers instead."""
    kept: list[str] = []
    wanted = True
    for line in requirements.splitlines():
        if not line.startswith((" ", "\t")):
            match = _MARKER.match(line)
            wanted = match is None or Marker(match["marker"]).evaluate(platform.markers)
            if match and wanted:
                kept.append(f"{match['pin']} {match['rest']}".rstrip())
                continue
        if wanted:
            kept.append(line)
    return "\n".join(kept) + "\n"


def _names_to_skip(folder: str, names: list[str]) -> set[str]:
    """Return the names in a source folder that no bundle carries."""
    return _IGNORED(folder, names) | _COMMAND.intersection(names)


def _contents(folder: Path) -> list[str]:
    """Return names and hashes of the files that a copy of the folder would hold."""
    contents: list[str] = []
    for path, folders, files in os.walk(folder):
        skipped = _names_to_skip(path, [*folders, *files])
        folders[:] = sorted(name for name in folders if name not in skipped)
        for name in sorted(name for name in files if name not in skipped):
            file = Path(path) / name
            contents += [
                str(file.relative_to(folder)),
                hashlib.sha256(file.read_bytes()).hexdigest(),
            ]
    return contents
