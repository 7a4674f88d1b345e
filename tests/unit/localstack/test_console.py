"""The console of `make up`."""

import json

import pytest

from localstack import background, console, deploy

pytestmark = pytest.mark.usefixtures("folder")


def test_a_command_killed_while_it_started_leaves_one_that_gets_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deploy, "outputs", lambda: {"StateTable": "state"})
    monkeypatch.setattr(console, "newest_source", lambda: 0)
    monkeypatch.setattr(console, "aws_endpoint", lambda: "http://127.0.0.1:2")
    options = json.dumps(["http://127.0.0.1:2", "state", 0])
    script = "sleep 0.5; echo 'The console is at http://127.0.0.1:1/?token=t'; exec sleep 60"
    background.start(console.NAME, ["/bin/sh", "-c", script], {}, options)
    assert console.ensure() == "http://127.0.0.1:1/?token=t"
