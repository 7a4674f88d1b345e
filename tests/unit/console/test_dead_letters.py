"""Dead letters by reason, what would be sent, and redrive and purge with a question before."""

import json
import re
import time
from pathlib import Path
from typing import Final

import pytest

from bucketcast.console import dead_letters
from bucketcast.dlq.aws import reader
from tests.unit.console.site import Answer, Site
from tests.unit.dlq.command.letters import DEAD, OWN, count, dead_letter_event, keys
from tests.unit.moto_aws import MotoAws, configure

TARGET: Final = "target=webhook%3Aprimary"
SCRIPT: Final = "<script>alert(1)</script>"


def ended(site: Site, answer: Answer) -> str:
    """Return the page of a run once it has ended."""
    assert answer.status == 303, answer.text
    address = answer.headers["location"]
    end = time.monotonic() + 30
    while "data-live" in (page := site.get(address)).body:
        assert time.monotonic() < end, page.text
        time.sleep(0.01)
    return page.text


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_WAIT_SECONDS", 0)
    # moto does not tell the time; what a test sent before is older than its command.
    ahead = lambda *_: round(time.time() * 1000) + 1  # noqa: E731
    monkeypatch.setattr("bucketcast.dlq.command.move.server_time", ahead)


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
    assert '<td class="number">3</td>' in page
    assert "too large" in page
    assert ">bucketcast dlq ls</code>" in page
    assert f"/dead-letters/redrive?{TARGET}&reason=too+large&error=Rejected&rule=r1" in page
    assert "is &lt;b&gt;bad&lt;/b&gt;" in answer.body
    one = site.get("/dead-letters?target=webhook:primary&reason=LARGE").text
    assert "too large" in one
    assert "answered 422" not in one
    assert "dlq ls webhook:primary --reason LARGE" in one
    assert "no dead letters found" in site.get("/dead-letters?target=postgres:main").text


def test_a_letter_shows_the_bytes_that_would_be_sent(site: Site, aws: MotoAws) -> None:
    configure("Bucketcast-webhook-primary", endpoint="https://example.org/hook")
    dead_letter_event(aws, f"{SCRIPT}\x1b[2J", reason=f'"><img src=x>{SCRIPT}')
    answer = site.get(f"/dead-letters/letters?{TARGET}")
    assert "content-type: application/json" in answer.text.lower()
    assert '"EventName":"s3:ObjectCreated:Put","Key":"uploads/<script>' in answer.text
    assert "dlq show webhook:primary --limit 20" in answer.text
    for sign in ("<script>", "<img", "\x1b"):
        assert sign not in answer.body


@pytest.mark.usefixtures("letters")
def test_a_redrive_of_one_reason_asks_first_and_leaves_the_others(site: Site, aws: MotoAws) -> None:
    query = f"/dead-letters/redrive?{TARGET}&reason=answered&error=Rejected"
    page = site.get(query).text
    assert "3 events would be sent to arn:minio:sqs::primary:webhook" in page
    assert "dlq redrive webhook:primary --reason answered --error Rejected" in page
    assert '<input type="hidden" name="reason" value="answered">' in page
    assert count(aws, OWN) == 0
    done = site.post(
        "/dead-letters/redrive", target="webhook:primary", reason="answered", error="Rejected"
    )
    assert "3 events sent to arn:minio:sqs::primary:webhook" in ended(site, done)
    assert keys(aws, OWN) == ["k0", "k1", "k2"]
    assert keys(aws, DEAD) == ["big"]


@pytest.mark.usefixtures("letters")
def test_one_letter_is_chosen_by_its_id(site: Site, aws: MotoAws) -> None:
    listed = site.get(f"/dead-letters/letters?{TARGET}&reason=large").text
    id_ = listed.split("&id=")[1].split('"')[0]
    assert f"/dead-letters/purge?{TARGET}&id={id_}" in listed
    assert "1 event would be sent" in site.get(f"/dead-letters/redrive?{TARGET}&id={id_}").text
    ended(site, site.post("/dead-letters/redrive", target="webhook:primary", id=id_))
    assert keys(aws, OWN) == ["big"]


@pytest.mark.usefixtures("letters")
def test_a_purge_asks_first_and_writes_what_it_removes(
    site: Site, aws: MotoAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = site.get(f"/dead-letters/purge?{TARGET}&reason=large").text
    assert "1 event would be written to a new file" in page
    path = page.split('name="file"')[1].split('value="')[1].split('"')[0]
    assert Path(path).parent == tmp_path
    assert f"dlq purge webhook:primary --reason large --file {path}" in page
    assert count(aws, DEAD) == 4
    fields = {"target": "webhook:primary", "reason": "large", "file": path}
    assert f"1 event removed; they are in {path}" in ended(
        site, site.post("/dead-letters/purge", **fields)
    )
    (line,) = Path(path).read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["events"][0]["key"] == "big"
    assert "exists already" in ended(site, site.post("/dead-letters/purge", **fields))
    assert len(keys(aws, DEAD)) == 3


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("webhook:primry", "did you mean 'webhook:primary'"),
        ("", "no dead-letter queue of"),
    ],
)
@pytest.mark.parametrize("what", ["redrive", "purge"])
def test_a_wrong_target_is_named_and_nothing_is_done(
    site: Site, target: str, problem: str, what: str
) -> None:
    answer = site.post(f"/dead-letters/{what}", target=target, file="x.ndjson")
    assert (answer.status, problem in answer.text) == (400, True), answer.text
    assert not Path("x.ndjson").exists()


@pytest.mark.usefixtures("letters")
def test_a_page_does_not_read_a_whole_queue_first(
    site: Site, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "_COUNTED", 1)
    for _ in range(20):
        dead_letter_event(aws, "more", reason="more")
    for what in ("", "/redrive", "/purge"):
        page = site.get(f"/dead-letters{what}?{TARGET}").text
        assert re.search(r"only the first \d+ of about 24 messages were counted", page)
    ended(site, site.post("/dead-letters/redrive", target="webhook:primary", reason="more"))
    assert keys(aws, OWN) == ["more"] * 20


def test_a_run_that_is_not_known_any_more_says_so(site: Site) -> None:
    assert site.get("/dead-letters/runs/0").status == 404
