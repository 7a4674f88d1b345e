"""Dead letters by group, what would be sent, and redrive and purge with a question before."""

import json
import re
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import pytest

from bucketcast.console import dead_letters
from bucketcast.console.answers import ROWS
from tests.unit.console.site import Answer, Site
from tests.unit.dlq.command.letters import DEAD, count, dead_letter_event, keys, read_at_once
from tests.unit.moto_aws import MotoAws, configure
from tests.unit.samples import event

TARGET: Final = "target=webhook%3Aprimary"
FIELDS: Final = ("target", "path")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    read_at_once(monkeypatch)


@pytest.fixture
def letters(aws: MotoAws) -> None:
    configure("Bucketcast-webhook-primary", endpoint="https://example.org/hook")
    for number in range(3):
        dead_letter_event(aws, f"k{number}", reason=f"answered 422: row {number} is <b>bad</b>")
    dead_letter_event(aws, "big", reason="too large")


def read(site: Site, address: str) -> Answer:
    return site.without("It runs", address)


@pytest.mark.usefixtures("letters")
def test_letters_are_counted_by_group_as_the_command_does(site: Site) -> None:
    answer = read(site, "/dead-letters")
    page = answer.text
    assert '<td data-label="events">3</td>' in page
    assert "too large" in page
    assert ">bucketcast dlq ls</code>" in page
    assert "is &lt;b&gt;bad&lt;/b&gt;" in answer.body
    one = read(site, "/dead-letters?target=webhook:primary&reason=LARGE").text
    assert "too large" in one
    assert "answered 422" not in one
    assert "dlq ls --reason LARGE webhook:primary" in one
    assert "no dead letters found" in read(site, "/dead-letters?target=postgres:main").text
    assert site.get("/dead-letters?target=webhook:primary/large").status == 400


@pytest.mark.usefixtures("letters")
def test_page_does_not_wait_for_what_it_reads(site: Site) -> None:
    letters = f"dead-letters/letters?{TARGET}"
    changes = [f"changes/{name}?{TARGET}" for name in ("redrive", "purge")]
    with dead_letters.reading:
        for what in (f"dead-letters?{TARGET}", letters, f"{letters}&ids=a", *changes):
            page = site.get(f"/{what}")
            assert (page.status, "It runs" in page.text) == (200, True)
    assert "too large" in read(site, f"/changes/purge?{TARGET}").text


def test_page_of_letters_has_fifty_and_links_to_more(site: Site, aws: MotoAws) -> None:
    configure("Bucketcast-webhook-primary", endpoint="https://example.org/hook")
    for number in range(ROWS + 1):
        dead_letter_event(aws, f"k{number:02}")
    address = f"/dead-letters/letters?{TARGET}"
    first, second = read(site, address).text, read(site, f"{address}&page=2").text
    assert [page.count('<td data-label="object">') for page in (first, second)] == [ROWS, 1]
    assert f'href="{address}&page=2"' in first
    assert f'href="{address}&page=1"' in second
    picked = re.findall(r'type="checkbox" name="ids" value="([^"]*)"', first)[:2]
    query = urlencode({"target": "webhook:primary", "ids": picked}, doseq=True)
    form = read(site, f"/changes/purge?{query}").text
    assert form.split('name="ids"')[1].split("</textarea>")[0].split("\n")[1:] == picked
    assert f"dlq purge --id {picked[0]} --id {picked[1]} webhook:primary" in form
    assert '<td data-label="events">2</td>' in form
    assert 'name="picked"' in form
    assert "picked" not in site.get("/changes/purge?target=webhook:primary").text
    assert site.get("/changes/purge?target=webhook:primary&ids=").status == 400
    (show,) = re.findall(r'href="(/dead-letters/letters[^"]*&ids=[^"]*)"', second)
    assert '"Key":"uploads/k' in read(site, show).text
    dead_letter_event(aws, "k00")  # the copy of another rule
    both = f"{address}&ids={event('k00', request_id='k00').id}"
    assert read(site, both).text.count("reason    ") == 2


@pytest.mark.parametrize("ids", ["", " \r\n "])
@pytest.mark.parametrize("name", ["redrive", "purge"])
@pytest.mark.usefixtures("letters")
def test_all_letters_are_not_chosen_by_a_form_whose_picks_are_cleared(
    site: Site, aws: MotoAws, tmp_path: Path, name: str, ids: str
) -> None:
    fields = {"target": "webhook:primary", "path": str(tmp_path / "x"), "ids": ids}
    answer = site.post(f"/changes/{name}", **fields, picked="on")
    assert (answer.status, "nothing is picked" in answer.text) == (400, True)
    assert 'name="picked"' in answer.text
    assert count(aws, DEAD) == 4


@pytest.mark.usefixtures("letters")
def test_purge_of_a_row_asks_first_and_writes_what_it_removes(
    site: Site, aws: MotoAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = read(site, "/dead-letters?reason=large").text
    (address,) = re.findall(r'href="(/changes/purge[^"]*)"', listed)
    page = read(site, address).text
    assert "too large" in page
    values = {name: re.findall(f'name="{name}"[^>]*value="([^"]*)"', page)[0] for name in FIELDS}
    assert Path(values["path"]).parent == tmp_path
    assert count(aws, DEAD) == 4
    dead_letter_event(aws, "alike", reason="too large!")
    removed = f"1 event removed; they are in {values['path']}"
    assert removed in site.change("purge", **values).text
    (line,) = Path(values["path"]).read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["events"][0]["key"] == "big"
    assert "exists already" in site.change("purge", **values).text
    assert len(keys(aws, DEAD)) == 4
