"""`docs/dependencies.md` names each library that is carried, and whose TLS it uses."""

import re
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/dependencies.md").read_text("utf-8")
PINS = sorted((ROOT / "layers").glob("**/requirements.txt"))


@pytest.mark.parametrize("pins", PINS, ids=[path.parent.name for path in PINS])
def test_the_packages_and_the_tls_of_a_layer_are_on_the_page(pins: Path) -> None:
    table = PAGE.partition("## Licences and TLS")[2]
    row = re.search(rf"^\| {pins.parent.name} \| (.*) \| (.*) \|$", table, re.MULTILINE)
    assert row, f"no row for {pins.parent.name}"
    assert set(row[1].split(", ")) - {"none"} == set(_pinned(pins))
    own = [f"OpenSSL in {name}" for name, each in _installed(pins) if _has_openssl(each)]
    assert row[2] == (", ".join(own) or "Python's")


def test_no_licence_obliges_who_deploys() -> None:
    """LGPL and GPL oblige whoever passes on a bundle that has them, unless there is a choice."""
    licences = {name: _licence(each) for pins in PINS for name, each in _installed(pins)}
    assert licences
    assert [name for name, text in licences.items() if "GPL" in text and " OR " not in text] == []


def _pinned(pins: Path) -> list[str]:
    return re.findall(r"^([\w.-]+)==", pins.read_text("utf-8"), re.MULTILINE)


def _installed(pins: Path) -> Iterator[tuple[str, Distribution]]:
    """Yield what this Python has of it; some packages are for other ones."""
    for name in _pinned(pins):
        with suppress(PackageNotFoundError):
            yield name, distribution(name)


def _licence(package: Distribution) -> str:
    """Return an SPDX expression, or the words of older metadata."""
    if expression := package.metadata["License-Expression"]:
        return str(expression)
    classifiers = package.metadata.get_all("Classifier") or []
    words = [each.split(" :: ")[-1] for each in classifiers if each.startswith("License ::")]
    short = [re.sub(r".*\((.+)\)|( Software)?( License)$", r"\1", word) for word in words]
    return " or ".join(short) or str(package.metadata["License"])


def _has_openssl(package: Distribution) -> bool:
    libraries = [file for file in package.files or [] if ".so" in file.name]
    version = re.compile(rb"OpenSSL \d+\.\d+\.\d+ ")
    return any(version.search(Path(str(file.locate())).read_bytes()) for file in libraries)
