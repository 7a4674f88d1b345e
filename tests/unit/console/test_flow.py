"""The flow, and a target's page."""

import re
import time
from threading import Event, Thread, current_thread

import pytest

from bucketcast.aws.clients import AwsError
from bucketcast.console import context, flow
from bucketcast.console.context import Shared
from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule
from bucketcast.state.counters import Counts, Last
from bucketcast.state.rules import Rules
from bucketcast.terminal.output import Output
from tests.unit.console.site import Site
from tests.unit.moto_aws import WEBHOOK, MotoAws, configure, refusal

TARGET = "/targets/webhook:primary"


def test_a_target_is_probed_again_after_a_minute(
    site: Site, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.without("being checked", "/")  # the flow's own probes run beside it
    with monkeypatch.context() as patch:
        patch.setattr(flow, "probe", None)
        assert ">online</span>" in site.get(TARGET).text
    aws.answers["Bucketcast-webhook-primary"] |= {"online": False, "why": "refused"}
    later = time.monotonic() + 3_600
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert ">offline</span>" in site.get(TARGET).text


def test_a_target_that_refuses_all_events_is_not_green(site: Site, aws: MotoAws) -> None:
    last = Last(failure=round(time.time() * 1_000), error="Retryable", reason="answered 503")
    aws.counters.add(WEBHOOK, Counts(failed=30), last)
    queue = aws.queue("Bucketcast-webhook-primary")
    aws.sqs.send_message(QueueUrl=queue, MessageBody="x")
    page = site.get(TARGET).text
    assert ('"state failing"' in page, "state online" in page) == (True, False)
    page = site.without("being checked", "/").text
    assert '"state failing"' in page
    assert "0 of its last 30 tries went through" in page
    assert "answered 503" in page


def test_a_bucket_with_rules_that_is_not_connected_says_so(site: Site, aws: MotoAws) -> None:
    aws.s3.create_bucket(Bucket="other")
    site.post("/changes/add-rule", bucket="other", arn="webhook:primary", events="put")
    site.post("/changes/add-rule", bucket="uploads", arn="webhook:primary", events="put")
    off = Rule(bucket="quiet", arn=WEBHOOK, events=("s3:ObjectCreated:*",), disabled=True)
    aws.rules.add(off)
    page = site.get("/").text
    assert re.findall(r'href="/rules"><b>(.*?)</b>', page) == ["2 rules"]
    assert re.findall("(bucket [a-z]+ is not connected)", page) == ["bucket other is not connected"]
    assert '"/rules?bucket=uploads"' in page


def test_rules_that_cannot_be_read_are_no_zero(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Rules) -> list[str]:
        raise refusal("AccessDeniedException", "Scan")

    monkeypatch.setattr(Rules, "buckets", refuse)
    answer = site.get("/")
    assert (answer.status, "not allowed: Scan" in answer.text) == (502, True)


def test_no_view_waits_long_for_aws_and_all_share_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """AWS may take a minute to fail, and there are 40 threads for all views."""
    answered = Event()
    calls: list[int] = []

    def read() -> None:
        calls.append(1)
        answered.wait(20)
        raise BucketcastError("it failed")

    shared = Shared(read, 60)
    with monkeypatch.context() as patch:
        patch.setattr(context, "_PATIENCE_SECONDS", 0.01)
        for _ in range(3):
            with pytest.raises(AwsError, match="has not answered yet"):
                shared.get()
    answered.set()
    for _ in range(3):
        with pytest.raises(BucketcastError, match="it failed"):
            shared.get()
    assert calls == [1]


def test_what_takes_longer_than_it_is_kept_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes of targets that do not answer take longer than the time between two of them."""
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def read() -> str:
        nonlocal now
        now += 90
        return "down"

    shared = Shared(read, 30)
    first = shared.begin()
    assert first.result(20) == "down"
    assert shared.begin() is first


def test_a_login_asks_for_its_code_in_the_commands_own_thread(
    aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another one it would have ten seconds, and Ctrl-C would leave a terminal without echo."""
    threads: list[Thread] = []

    monkeypatch.setattr(context, "find", lambda *_: threads.append(current_thread()))
    context.Context(Output(aws=lambda **_: aws))
    assert threads == [current_thread()]


def test_a_target_shows_its_settings_without_secrets(site: Site) -> None:
    configure(
        "Bucketcast-webhook-primary",
        endpoint="https://user:pa55word@example.org/hook",
        auth_token="secret:webhook-primary",
    )
    page = site.get(TARGET).text
    assert "https://example.org/hook" in page
    assert "secret:webhook-primary" in page
    assert "pa55word" not in page


def test_a_target_is_paused_and_resumed(site: Site) -> None:
    for change, paused in (("pause", True), ("resume", False)):
        assert site.post(f"/changes/{change}", arn="webhook:primary").headers["location"] == TARGET
        assert ("paused since" in site.get(TARGET).text) is paused
