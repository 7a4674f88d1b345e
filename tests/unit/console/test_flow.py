"""The flow, and a target's page."""

from threading import Event

import pytest

from bucketcast.delivery.breaker import Outage
from bucketcast.delivery.queue import Queue
from bucketcast.diagnose.command import test as trials
from bucketcast.diagnose.steps import Step
from bucketcast.diagnose.trial import Trial
from bucketcast.state.breakers import Breakers
from tests.unit.console.site import Site
from tests.unit.moto_aws import TABLE, MotoAws, configure, refusal

TARGET = "/targets/webhook:primary"


def test_the_flow_shows_what_waits_for_each_target(site: Site, aws: MotoAws) -> None:
    aws.sqs.send_message(QueueUrl=aws.queue("Bucketcast-webhook-primary"), MessageBody="x")
    aws.sqs.send_message(QueueUrl=aws.queue("Bucketcast-postgres-main-dead"), MessageBody="x")
    page = site.get("/").text
    assert '<code aria-labelledby="same">bucketcast target ls</code>' in page
    assert '<a href="/targets/webhook:primary"><b>webhook:primary</b></a>' in page
    assert "<dt>waiting</dt><dd>1</dd>" in page
    assert '<a href="/dead-letters?target=postgres:main">1</a>' in page


def test_a_target_is_paused_and_resumed(site: Site) -> None:
    paused = site.post(f"{TARGET}/pause")
    assert (paused.status, paused.headers["location"]) == (303, TARGET)
    assert "paused since" in site.get(TARGET).text
    assert site.post(f"{TARGET}/resume").headers["location"] == TARGET
    assert "paused since" not in site.get(TARGET).text


def test_a_target_shows_its_settings_without_secrets(site: Site) -> None:
    configure(
        "Bucketcast-webhook-primary",
        endpoint="https://user:hidden@example.org/hook",
        auth_token="secret:webhook-primary",
    )
    page = site.get(TARGET).text
    assert "https://example.org/hook" in page
    assert "secret:webhook-primary" in page
    assert "hidden" not in page


def test_an_error_of_a_target_is_text(site: Site, aws: MotoAws) -> None:
    store = Breakers(TABLE, lambda: aws.dynamodb).of("arn:minio:sqs::primary:webhook")
    store.record(Outage(1, 2, reason="<script>alert(1)</script>"), probed=False)
    aws.answers["Bucketcast-webhook-primary"] |= {"online": False, "why": "<img src=x onerror=y>"}
    answer = site.get(TARGET)
    assert "&lt;img src=x onerror=y&gt;" in answer.body
    assert "<img" not in answer.body


def test_a_pause_that_is_not_confirmed_is_reported(site: Site, aws: MotoAws) -> None:
    aws.pause_answers["Bucketcast-webhook-primary"] = refusal("ReadTimeout", message="no answer")
    answer = site.post(f"{TARGET}/pause")
    assert (answer.status, "did not confirm it" in answer.text) == (400, True)
    assert "paused since" in site.get(TARGET).text


def test_a_test_event_is_followed_to_the_target(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the logs say is read in the background; the page shows it."""

    def follow(trial: Trial, *_: object) -> None:
        (event,) = trial.sent
        steps = (Step(trial.sent[event] + 7, event, kind) for kind in ("queued", "delivered"))
        trial.add_steps(steps)
        followed.set()

    followed = Event()
    monkeypatch.setattr(trials, "follow", follow)
    monkeypatch.setattr(Queue, "send", lambda *_: {})
    address = site.post(f"{TARGET}/tests").headers["location"]
    assert followed.wait(20)
    page = site.get(address).text
    assert "<td>delivered</td><td>7 ms</td>" in page
    assert "bucketcast test webhook:primary" in page


def test_no_test_event_goes_to_a_paused_target(site: Site) -> None:
    site.post(f"{TARGET}/pause")
    answer = site.post(f"{TARGET}/tests")
    assert (answer.status, "its events wait in its queue" in answer.text) == (400, True)


def test_a_test_of_an_earlier_console_is_not_known(site: Site) -> None:
    assert site.get(f"{TARGET}/tests/0123").status == 404


def test_an_unknown_target_is_named_in_the_commands_words(site: Site) -> None:
    answer = site.get("/targets/webhook:primry")
    assert answer.status == 400
    assert "available: postgres:main, webhook:primary" in answer.text
