"""Bundles, built for real: each layer has its own files and none of another."""

import os
import re
import subprocess
import sys
import time
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bucketcast import targets
from bucketcast.errors import ConfigErrors
from bucketcast_cdk.bundling import Bundles, for_platform, layer_folder, mirrors
from bucketcast_cdk.platform import LAMBDA, Platform, glue_platform, local_platform
from tests.infra.conftest import ROOT

KINDS = targets.kinds()
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
_PRINT_DISTRIBUTIONS = """
import sys
from importlib.metadata import packages_distributions
import functions.gateway.handler
names = packages_distributions()
for module in sorted({name.partition(".")[0] for name in sys.modules}):
    for name in names.get(module, ()):
        print(name)
"""
LIBRARIES = [kind for kind in KINDS if EXTRAS[kind]]
"""The kinds whose client is a library; that of the others is in the core layer."""
CLIENTS = [f"client-{kind}" for kind in KINDS]
JOBS = ["shared", "jobs", *(f"client-{kind}" for kind in mirrors())]
ELF = {"aarch64": 183, "x86_64": 62}
"""What the header of a library says of its machine."""


@pytest.fixture(scope="module")
def here() -> Bundles:
    return Bundles(ROOT, local_platform())


@pytest.mark.parametrize("kind", LIBRARIES)
def test_a_client_layer_has_its_own_client_and_no_other(here: Bundles, kind: str) -> None:
    layer = _client(here, kind)
    assert layer is not None
    clients = {targets.load(other).client for other in LIBRARIES}
    assert _importable(clients, layer, here.core(), _shared(here)) == {targets.load(kind).client}


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(LIBRARIES)))
def test_a_client_of_our_own_has_no_layer_and_needs_none(here: Bundles, kind: str) -> None:
    assert _client(here, kind) is None
    client = {targets.load(kind).client}
    assert _importable(client, here.core(), _shared(here)) == client


def test_the_gateways_layer_has_what_its_function_imports_and_no_more() -> None:
    variables = {"BUCKETCAST_STACK": "Bucketcast", "BUCKETCAST_STATE_TABLE": "state"}
    login = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    found = subprocess.run(
        [sys.executable, "-c", _PRINT_DISTRIBUTIONS],
        env={**os.environ, **variables, **login, "AWS_REGION": "us-east-1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {_normalised(name) for name in found.stdout.split()} & _pins("requirements/dev.txt")
    layer = _pins("layers/gateway/requirements.txt")
    elsewhere = _pins("layers/shared/requirements.txt") | _pins("requirements/lambda.txt")
    assert imported - elsewhere == layer - elsewhere


def test_the_core_layer_has_the_package_and_its_bytecode(here: Bundles) -> None:
    core = here.core()
    module = {"bucketcast.errors"}
    assert _importable(module, core) == module
    assert not list(core.rglob("*.dist-info"))
    compiled = list((core / "python" / "bucketcast" / "__pycache__").glob("destination.*.pyc"))
    (header,) = [path.read_bytes()[4:8] for path in compiled]
    # PEP 552: the pyc knows its source by hash (1) and is not compared with it (no 2).
    assert int.from_bytes(header, "little") == 1


@pytest.mark.parametrize("name", ["cli", "console", "dlq/command", "terminal"])
def test_a_change_of_the_command_line_changes_no_layer(tmp_path: Path, name: str) -> None:
    _repository(tmp_path)
    bundles = Bundles(tmp_path, local_platform())
    first = bundles.core()
    folder = tmp_path / "layers/core/python/bucketcast" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("NEW = True\n")
    assert bundles.core() == first


def test_function_without_the_package_reports_it(here: Bundles) -> None:
    """Without the core layer its messages wait by the spare copy of the policy."""
    code = "import functions.startup as s; print(s.handler.__name__, s.policy.__file__)"
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={},
        cwd=here.function("dispatch"),
    )
    assert ended.stdout.startswith("handler ")
    assert "/functions/spare/bucketcast/delivery/policy.py" in ended.stdout
    assert "BUCKETCAST_HANDLER" in ended.stderr


@pytest.mark.parametrize(
    ("platform", "names"),
    [
        (LAMBDA, ["shared", "gateway", *CLIENTS]),
        (glue_platform("6.0"), JOBS),
        (glue_platform("5.1"), JOBS),
    ],
    ids=["Lambda", "Glue 6.0", "Glue 5.1"],
)
def test_every_layer_has_wheels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: Platform, names: list[str]
) -> None:
    """Those of all layers at once: what takes long is to ask for them, layer by layer."""
    monkeypatch.setattr(Bundles, "_compile", lambda *_: None)
    files = [layer_folder(ROOT, name) / "requirements.txt" for name in names]
    pinned = tmp_path / "requirements.txt"
    pinned.write_text("".join(each.read_text() for each in files))
    layer = Bundles(tmp_path, platform).packages("all", pinned)
    assert layer is not None
    extensions = list(layer.rglob("*.so"))
    assert extensions
    for extension in extensions:
        machine = int.from_bytes(extension.read_bytes()[18:20], "little")
        assert machine == ELF[platform.machine], f"{extension} is not for {platform.machine}"


def test_second_build_reuses_the_first_one(tmp_path: Path) -> None:
    _repository(tmp_path)
    bundles = Bundles(tmp_path, local_platform())
    first = bundles.core()
    before = first.stat().st_mtime_ns
    assert bundles.core() == first
    assert first.stat().st_mtime_ns == before
    (tmp_path / "layers/core/python/bucketcast/__init__.py").write_text("CHANGED = True\n")
    assert bundles.core() != first


def test_synths_that_begin_together_build_a_bundle_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _repository(tmp_path)
    built = []

    def build(_: Bundles, out: Path) -> None:
        built.append(out)
        time.sleep(0.2)

    monkeypatch.setattr(Bundles, "_compile", build)
    with ThreadPoolExecutor(2) as pool:
        folders = pool.map(lambda _: Bundles(tmp_path, local_platform()).core(), range(2))
    assert len(set(folders)) == len(built) == 1


def test_a_packed_bundle_holds_its_files_and_is_packed_once(here: Bundles) -> None:
    bundle = here.function("ingest")
    packed = here.packed(bundle)
    files = {each.relative_to(bundle).as_posix() for each in bundle.rglob("*") if each.is_file()}
    with zipfile.ZipFile(packed) as archive:
        assert set(archive.namelist()) == files
    before = packed.stat().st_ino
    assert here.packed(bundle).stat().st_ino == before


def test_bytecode_in_the_sources_does_not_change_a_bundle(tmp_path: Path) -> None:
    _repository(tmp_path)
    bundles = Bundles(tmp_path, local_platform())
    first = bundles.core()
    cache = tmp_path / "layers/core/python/bucketcast/__pycache__"
    cache.mkdir()
    (cache / "stale.cpython-311.pyc").write_bytes(b"stale")
    assert bundles.core() == first
    assert not list(first.rglob("stale*"))


def test_a_failed_build_leaves_nothing_and_names_its_requirement(tmp_path: Path) -> None:
    _repository(tmp_path)
    requirements = tmp_path / "layers" / "requirements.txt"
    requirements.write_text(f"bucketcast-none==1.0 --hash=sha256:{'0' * 64}\n")
    no_index = tmp_path / "pip.conf"
    no_index.write_text("[global]\nno-index = true\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_CONFIG_FILE", str(no_index))
        with pytest.raises(ConfigErrors, match=r"layers/requirements\.txt: pip could not install"):
            Bundles(tmp_path, LAMBDA).packages("none", requirements)
    assert not list((tmp_path / ".local" / "bundles").iterdir())


def test_markers_are_those_of_the_platform_not_of_this_interpreter() -> None:
    pinned = (
        "# a comment\n"
        "old==1.0 ; python_full_version < '3.13' \\\n"
        "    --hash=sha256:aa\n"
        "new==2.0 ; python_version >= '3.13' and platform_machine == 'aarch64' \\\n"
        "    --hash=sha256:bb \\\n"
        "    --hash=sha256:cc\n"
        "plain==3.0 \\\n"
        "    --hash=sha256:dd\n"
    )
    assert for_platform(pinned, LAMBDA) == (
        "# a comment\n"
        "new==2.0 \\\n"
        "    --hash=sha256:bb \\\n"
        "    --hash=sha256:cc\n"
        "plain==3.0 \\\n"
        "    --hash=sha256:dd\n"
    )


def test_bytecode_is_left_out_where_no_interpreter_can_make_it(tmp_path: Path) -> None:
    _repository(tmp_path)
    bundles = Bundles(tmp_path, Platform(python="3.99", machine="aarch64", here=False))
    assert not bundles.has_bytecode
    assert not list(bundles.core().rglob("*.pyc"))


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("HOME", ".pyenv/versions/3.99.1"),
        ("PYENV_ROOT", "versions/3.99.1"),
        ("HOME", ".local/share/uv/python/cpython-3.99.1-linux"),
        ("UV_PYTHON_INSTALL_DIR", "cpython-3.99.1-linux"),
    ],
)
def test_an_interpreter_is_found_beside_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str
) -> None:
    program = tmp_path / "there" / folder / "bin" / "python3.99"
    stub = tmp_path / "stubs" / "python3.99"
    for file, target in ((program, "true"), (stub, "false")):
        file.parent.mkdir(parents=True)
        file.symlink_to(f"/bin/{target}")
    for name in ("PYENV_ROOT", "UV_PYTHON_INSTALL_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(stub.parent))
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    missing = Platform(python="3.99", machine="aarch64", here=False)
    assert missing.interpreter() is None
    monkeypatch.setenv(variable, str(tmp_path / "there"))
    assert missing.interpreter() == str(program)


def _client(bundles: Bundles, kind: str) -> Path | None:
    return bundles.layer(f"client-{kind}")


def _shared(bundles: Bundles) -> Path:
    shared = bundles.layer("shared")
    assert shared is not None
    return shared


_PRINT_IMPORTABLE = """
import importlib, sys
folders, modules = map(str.split, sys.argv[1:])
sys.path[:0] = folders
for module in modules:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        continue
    print(module)
"""


def _importable(modules: set[str], *layers: Path) -> set[str]:
    """Return the modules that a bare interpreter, with these layers alone, can import."""
    folders = " ".join(str(layer / "python") for layer in layers)
    words = [folders, " ".join(sorted(modules))]
    printed = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PRINT_IMPORTABLE, *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(printed.stdout.split())


def _repository(root: Path) -> None:
    package = root / "layers" / "core" / "python" / "bucketcast"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("CHANGED = False\n")


def _pins(path: str) -> set[str]:
    """Return the names of the packages that a requirements file pins."""
    text = (ROOT / path).read_text()
    return {_normalised(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
