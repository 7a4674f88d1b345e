"""Dead letters by reason, what would be sent, and redrive and purge with a question before."""

import json
import re
from pathlib import Path
from typing import Final

import pytest

from bucketcast.console import changes
from tests.unit.console.site import Site
from tests.unit.dlq.command.letters import DEAD, OWN, count, dead_letter_event, keys, read_at_once
from tests.unit.moto_aws import MotoAws, configure

TARGET: Final = "target=webhook%3Aprimary"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    read_at_once(monkeypatch)


@pytest.fixture
def letters(aws: MotoAws) -> None:
    configure("Bucketcast-webhook-primary", endpoint="https://example.org/hook")
    for number in range(3):
        dead_letter_event(aws, f"k{number}", reason=f"answered 422: row {number} is <b>bad</b>")
    dead_letter_event(aws, "big", reason="too large")


@pytest.mark.usefixtures("letters")
def test_letters_are_counted_by_reason_as_the_command_does(site: Site) -> None:
    answer = site.get("/dead-letters")
    page = answer.text
    assert '<td data-label="events">3</td>' in page
    assert "too large" in page
    assert ">bucketcast dlq ls</code>" in page
    assert f"/changes/redrive?{TARGET}&reason=too+large&error=Rejected&rule=r1" in page
    assert "is &lt;b&gt;bad&lt;/b&gt;" in answer.body
    one = site.get("/dead-letters?target=webhook:primary&reason=LARGE").text
    assert "too large" in one
    assert "answered 422" not in one
    assert "dlq ls --reason LARGE webhook:primary" in one
    assert "no dead letters found" in site.get("/dead-letters?target=postgres:main").text


@pytest.mark.usefixtures("letters")
def test_a_purge_asks_first_and_writes_what_it_removes(
    site: Site, aws: MotoAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = site.get("/dead-letters?reason=large").text
    address = re.search(r'href="(/changes/purge\?[^"]*reason[^"]*)"', listed)
    assert address
    page = site.get(address[1]).text
    assert "too large" in page
    path = page.split('name="path"')[1].split('value="')[1].split('"')[0]
    assert Path(path).parent == tmp_path
    assert count(aws, DEAD) == 4
    chosen = {"target": "webhook:primary", "reason": "large", "path": path}
    assert f"1 event removed; they are in {path}" in site.change("purge", **chosen).text
    (line,) = Path(path).read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["events"][0]["key"] == "big"
    assert "exists already" in site.change("purge", **chosen).text
    assert len(keys(aws, DEAD)) == 3


@pytest.mark.usefixtures("letters")
def test_a_page_does_not_read_a_whole_queue_first(
    site: Site, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "COUNTED", 1)
    for _ in range(20):
        dead_letter_event(aws, "more", reason="more")
    for what in ("dead-letters", "changes/redrive", "changes/purge"):
        page = site.get(f"/{what}?{TARGET}").text
        assert re.search(r"only the first \d+ of about 24 messages were counted", page)
    site.change("redrive", target="webhook:primary", reason="more")
    assert keys(aws, OWN) == ["more"] * 20
