"""What has to be on a machine before anything is installed into the checkout."""

import shutil

import pytest

from localstack import install
from localstack.layout import Failure


def test_a_machine_without_node_is_refused_with_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(Failure, match=r"Node.js 20 or newer from https://nodejs.org"):
        install.install("deploy")
