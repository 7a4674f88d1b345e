"""Behaviour that only webhooks have."""

import email.utils
import ssl
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bucketcast import __version__
from bucketcast.errors import (
    BreakerOpen,
    DeliveryError,
    NotAuthorized,
    NotConnected,
    OutOfTime,
    Rejected,
    Retryable,
    Throttled,
    TimedOut,
    Waiting,
)
from bucketcast.event import Event
from bucketcast.shapes import minio
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.webhook import Target, client
from bucketcast.targets.webhook.limiter import START
from tests.contract.case import HANGS_AFTER, bounded, event
from tests.contract.endpoint import HOST, endpoint
from tests.contract.target_factory import making, running
from tests.servers import nginx
from tests.servers.receiver import Answer
from tests.servers.tls import Tls
from tests.servers.webhook import TOKEN, WebhookServer
from tests.unit.samples import kinds_of

CURLS_TRIES = 5
"""So many dead connections curl itself tries."""

Make = Callable[..., Target]


def events(count: int) -> list[Event]:
    return [event(f"photo-{number:04}") for number in range(count)]


webhook = running("webhook")
make = making(Target, "webhook", check=False)


def open_path(webhook: WebhookServer) -> str:
    return f"http://{webhook.address}/open"


def send_all(target: Target, left: Sequence[Event]) -> None:
    """Send these, and again what failed, as a queue does."""
    while left:
        left = [left[index] for index in target.send(left)]


def keys(webhook: WebhookServer) -> list[str]:
    return [msgspec.json.decode(arrival.body)["Key"] for arrival in webhook.received()]


def test_a_ceph_record_may_have_cloud_events_attributes_in_headers(
    make: Make, webhook: WebhookServer
) -> None:
    event_ = event("ä b.txt", region="eu-1", request_id="R1", host_id="H1")
    assert make(shape="ceph", cloudevents="on", opaque_data="mine").send([event_]) == {}
    (arrival,) = webhook.received()
    headers = arrival.headers
    assert headers["ce-specversion"] == "1.0"
    assert headers["ce-source"] == f"ceph:s3.eu-1.{event_.bucket}"
    assert headers["ce-type"] == "com.amazonaws.s3.ObjectCreated:Put"
    assert headers["ce-subject"] == "%C3%A4%20b.txt"
    assert headers["ce-id"].startswith("R1.H1.")
    assert headers["content-type"] == "application/json"
    (record,) = msgspec.json.decode(arrival.body)["Records"]
    assert (record["opaqueData"], record["s3"]["object"]["key"]) == ("mine", "ä b.txt")


def test_the_request_is_minios_with_a_stable_id(webhook: WebhookServer, make: Make) -> None:
    event_ = event("a b.jpg", version_id="v1", size=7)
    assert make().send([event_]) == {}
    (request,) = webhook.requests()
    assert (request.method, request.path) == ("POST", "/events")
    assert request.body == minio.log(event_)
    assert request.headers == {
        "host": webhook.address,
        "accept": "*/*",
        "user-agent": f"bucketcast/{__version__}",
        "content-type": "application/json",
        "content-length": str(len(request.body)),
        "authorization": f"Bearer {TOKEN}",
        "webhook-id": event_.id,
    }


@pytest.mark.parametrize(
    ("token", "header"),
    [
        ("", None),
        ("   ", None),
        ("one", "Bearer one"),
        (" one\n", "Bearer one"),
        ("Basic YTpi", "Basic YTpi"),
        ("Basic   YTpi ", "Basic YTpi"),
    ],
)
def test_authorization_depends_on_the_tokens_words(
    webhook: WebhookServer, make: Make, token: str, header: str | None
) -> None:
    assert not make(endpoint=open_path(webhook), auth_token=token).send(events(1))
    (request,) = webhook.requests()
    assert request.headers.get("authorization") == header


@pytest.mark.parametrize("token", ["Bearer of news", "a\nb", "a\x00", "schlüssel"])
def test_a_token_that_cannot_be_sent_is_refused(
    webhook: WebhookServer, make: Make, token: str
) -> None:
    target = make(auth_token=token)
    ((key, problem, _allowed),) = Target.check(target.settings)
    assert (key, problem) == ("auth_token", "found ***")
    for attempt in (lambda: target.send(events(1)), target.probe):
        with pytest.raises(NotAuthorized, match="auth_token") as refused:
            attempt()
        assert token not in str(refused.value)
    assert webhook.requests() == []


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        *((status, None) for status in (200, 201, 202, 204, 299)),
        *((status, Rejected) for status in (400, 422)),
        (413, TooLargeError),
        *((status, NotAuthorized) for status in (401, 403, 407)),
        *((status, Retryable) for status in (300, 304, 404, 405, 408, 409, 410, 415, 425, 429)),
        *((status, Retryable) for status in (402, 418, 500, 501, 502, 503, 504, 599)),
    ],
)
def test_the_status_decides(
    webhook: WebhookServer, make: Make, status: int, outcome: type[DeliveryError] | None
) -> None:
    webhook.answer(Answer(status=status))
    failures = make().send(events(1))
    assert kinds_of(failures) == ({0: outcome} if outcome else {})


@pytest.mark.parametrize("status", [422, 404, 409, 413])
def test_neighbours_of_a_refused_event_arrive(
    webhook: WebhookServer, make: Make, status: int
) -> None:
    odd = {"content-type": "text/plain; charset=é"}  # in Latin-1
    answer = Answer(status=status, headers=odd, body="no such\ncustomer", match="photo-0007")
    webhook.answer(answer)
    failures = make().send(events(50))
    assert failures.keys() == {7}
    said = f"http://{webhook.address}/events answered {status}: no such customer"
    assert str(failures[7]).startswith(said)
    assert failures[7].answer.startswith(f"{status}\ncontent-type: text/plain; charset=\ufffd\n")
    assert failures[7].answer.endswith("\n\nno such\ncustomer")
    assert len(webhook.received()) == 49


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_compressed_answer_is_shown_as_text(
    webhook: WebhookServer, make: Make, coding: str
) -> None:
    headers = {"content-encoding": coding}
    webhook.answer(Answer(status=422, body="no such customer " * 9_000, headers=headers))
    (error,) = make().send(events(1)).values()
    assert "answered 422: no such customer no such" in str(error)
    assert len(error.answer) < 5_000


def test_a_reason_is_short_and_without_the_token(webhook: WebhookServer, make: Make) -> None:
    webhook.answer(Answer(status=500, body=f"you said Bearer {TOKEN} " + "x" * 100_000))
    target = make(endpoint=f"http://{webhook.address}/events?key=s3cret#part")
    (error,) = target.send(events(1)).values()
    assert "you said Bearer *** xxx" in str(error)
    assert len(str(error)) < 300
    for printed in (str(error), target.where, repr(target.settings)):
        assert TOKEN not in printed
    assert "s3cret" not in str(error) + target.where


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_may_be_seconds_or_a_date_and_is_limited(
    webhook: WebhookServer, make: Make, status: int
) -> None:
    date = email.utils.formatdate(time.time() + 600, usegmt=True)
    for value, low, high in (("7", 7, 7), (date, 300, 600), ("999999", 900, 900)):
        webhook.answer(Answer(status=status, headers={"Retry-After": value}))
        (error,) = make().send(events(1)).values()
        assert isinstance(error, Throttled)
        assert low <= error.after <= high


def test_an_endpoint_that_asks_for_a_pause_gets_it(webhook: WebhookServer, make: Make) -> None:
    webhook.answer(Answer(status=429, headers={"Retry-After": "5"}))
    failures = make(in_flight="4").send(events(100))
    assert len(failures) == 100
    refused = [error for error in failures.values() if isinstance(error, Throttled)]
    unsent = [error for error in failures.values() if isinstance(error, Waiting)]
    assert len(refused) == len(webhook.requests()) <= 8
    assert len(unsent) == 100 - len(refused)
    assert {error.after for error in refused} == {error.seconds for error in unsent} == {5}


def test_some_that_ask_for_a_pause_do_not_delay_others(webhook: WebhookServer, make: Make) -> None:
    webhook.answer(Answer(status=429, headers={"Retry-After": "5"}, match="photo-00[16]7"))
    failures = make().send(events(100))
    assert {index: getattr(error, "after", 0) for index, error in failures.items()} == {
        17: 5,
        67: 5,
    }
    assert len(webhook.requests()) == 100


def test_what_was_refused_with_429_is_sent_again_in_the_same_batch(
    webhook: WebhookServer, make: Make
) -> None:
    webhook.answer(Answer(status=429, times=10))
    assert not make(in_flight="20").send(events(100))
    assert len(webhook.requests()) == 110
    assert sorted(keys(webhook)) == [minio.path(event_) for event_ in events(100)]


@pytest.mark.parametrize(
    ("answer", "tries"), [({"status": 429}, 2), ({"status": 503}, 1), ({"close": True}, None)]
)
def test_a_few_that_are_always_refused_do_not_delay_others(
    webhook: WebhookServer, make: Make, answer: dict[str, Any], tries: int | None
) -> None:
    webhook.answer(Answer(match="photo-00[16]7", **answer))
    failures = make().send(events(100))
    assert kinds_of(failures) == dict.fromkeys((17, 67), Retryable)
    assert tries is None or len(webhook.requests()) == 98 + 2 * tries


@pytest.mark.parametrize("status", [429, 503])
def test_where_everything_is_refused_each_event_has_one_try(
    webhook: WebhookServer, make: Make, status: int
) -> None:
    webhook.answer(Answer(status=status))
    failures = make().send(events(100))
    assert failures.keys() == set(range(100))
    assert {type(error) for error in failures.values()} == {Retryable}
    assert len(webhook.requests()) == 100


def test_over_http_2_an_endpoint_gets_as_many_at_a_time_as_it_allows(
    webhook: WebhookServer, make: Make, tls: Tls, tmp_path: Path
) -> None:
    webhook.answer(Answer(delay=0.01))
    front, port = nginx.run(
        tmp_path,
        f"""
        log_format short '$server_protocol $status';
        server {{
          listen 127.0.0.1:PORT ssl http2; limit_conn all 20; access_log {tmp_path}/access short;
          ssl_certificate {tls.server_cert}; ssl_certificate_key {tls.server_key};
          location / {{ proxy_pass http://{webhook.address}; }}
        }}
        """,
    )
    refused = []
    try:
        target = make(webhook.tls_settings(endpoint=f"https://127.0.0.1:{port}/events"))
        for part in (events(1_000)[:500], events(1_000)[500:]):
            send_all(target, part)
            answers = Counter((tmp_path / "access").read_text().splitlines())
            assert answers.keys() == {"HTTP/2.0 200", "HTTP/2.0 429"}
            refused.append(answers["HTTP/2.0 429"])
    finally:
        front.stop()
    assert sorted(keys(webhook)) == [minio.path(event_) for event_ in events(1_000)]
    assert refused[1] - refused[0] <= 5


def test_over_http_2_a_server_may_close_each_connection_after_one_request(
    webhook: WebhookServer, make: Make, tls: Tls, tmp_path: Path
) -> None:
    front, port = nginx.run(
        tmp_path,
        f"""
        server {{
          listen 127.0.0.1:PORT ssl http2; keepalive_requests 1;
          ssl_certificate {tls.server_cert}; ssl_certificate_key {tls.server_key};
          location / {{ proxy_pass http://{webhook.address}; }}
        }}
        """,
    )
    try:
        target = make(webhook.tls_settings(endpoint=f"https://127.0.0.1:{port}/events"))
        failures = target.send(events(300))
    finally:
        front.stop()
    assert {type(error) for error in failures.values()} <= {Retryable}
    assert len(failures) < 30
    assert len(keys(webhook)) == 300 - len(failures)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_named_and_not_followed(
    webhook: WebhookServer, make: Make, status: int
) -> None:
    webhook.answer(Answer(status=status, headers={"Location": "/elsewhere"}))
    (error,) = make().send(events(1)).values()
    assert isinstance(error, Retryable)
    assert f"set endpoint to http://{webhook.address}/elsewhere" in str(error)
    assert len(webhook.requests()) == 1


def test_a_wrong_token_stops_the_batch(webhook: WebhookServer, make: Make) -> None:
    failures = make(webhook.wrong_password_settings(in_flight="4")).send(events(100))
    assert len(failures) == 100
    refused = [error for error in failures.values() if isinstance(error, NotAuthorized)]
    assert len(refused) == len(webhook.requests()) <= 16
    assert [type(error) for error in failures.values()].count(BreakerOpen) == 100 - len(refused)


@pytest.mark.parametrize("in_flight", ["1", "32"])
def test_a_403_for_one_event_does_not_delay_others(
    webhook: WebhookServer, make: Make, in_flight: str
) -> None:
    webhook.answer(Answer(status=403, match="photo-000[012]"))
    failures = make(in_flight=in_flight).send(events(100))
    assert kinds_of(failures) == dict.fromkeys(range(3), Retryable)


def test_a_proxy_of_the_environment_is_used(
    webhook: WebhookServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://{webhook.address}")
    settings = webhook.settings(endpoint="http://nowhere.invalid/open")
    assert not make(settings).send(events(1))
    (request,) = webhook.requests()
    assert request.path == "http://nowhere.invalid/open"
    monkeypatch.setenv("no_proxy", "nowhere.invalid")
    assert len(make(settings).send(events(1))) == 1


def test_a_hanging_request_does_not_delay_others(webhook: WebhookServer, make: Make) -> None:
    webhook.answer(Answer(delay=HANGS_AFTER, match="photo-0003"))
    target = make(timeout="5s", in_flight="8")
    failures = bounded(lambda: target.send(events(200)))
    assert failures.keys() == {3}
    assert isinstance(failures[3], TimedOut)
    assert "see timeout" in str(failures[3])


def test_a_dead_endpoint_costs_one_timeout(webhook: WebhookServer, make: Make) -> None:
    webhook.pause()
    target = make(timeout="300ms", in_flight="4")
    failures = bounded(lambda: target.send(events(100)))
    assert len(failures) == 100
    found = Counter(map(type, failures.values()))
    assert found == {TimedOut: 4, BreakerOpen: 96}, "what was not sent is no try"


def test_a_slow_endpoint_gets_as_many_events_as_it_accepts(
    webhook: WebhookServer, make: Make
) -> None:
    webhook.answer(Answer(delay=0.5))
    target = make(timeout="3s", in_flight="4")
    failures = bounded(lambda: target.send(events(100)))
    assert {type(error) for error in failures.values()} == {OutOfTime}
    assert 4 <= len(webhook.received()) == 100 - len(failures)


def test_a_status_counts_even_if_its_body_never_ends(make: Make) -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nthanks"
    with endpoint(half, stays=True) as (address, _):
        assert not make({"endpoint": f"http://{address}/", "timeout": "3s"}).send(events(1))


def test_a_server_without_http_is_not_connected(make: Make) -> None:
    with endpoint(b"220 mail.example.org ESMTP\r\n", stays=True) as (address, _):
        (error,) = (
            make({"endpoint": f"http://{address}/", "timeout": "3s"}).send(events(1)).values()
        )
    assert isinstance(error, NotConnected)


def test_connections_are_kept_from_batch_to_batch(webhook: WebhookServer, make: Make) -> None:
    target = make(in_flight="8")
    for _ in range(5):
        assert not target.send(events(100))
    requests = webhook.requests()
    assert len(requests) == 500
    assert len({request.connection for request in requests}) <= 8


@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
def test_a_restarted_server_gets_the_next_event_at_once(
    webhook: WebhookServer, make: Make, *, encrypted: bool
) -> None:
    """However many connections it left behind."""
    target = make(**(webhook.tls_settings() if encrypted else {}))
    assert target.send(events(500)) == {}
    assert len({each.connection for each in webhook.requests()}) > 2 * CURLS_TRIES
    webhook.kill()
    webhook.start_again()
    assert target.send(events(1)) == {}


def test_a_request_that_is_sent_again_has_the_rest_of_its_time(
    webhook: WebhookServer, make: Make
) -> None:
    target = make(timeout="2s")
    assert target.send(events(1)) == {}
    webhook.answer(Answer(delay=1.2, close=True))
    (error,) = target.send(events(1)).values()
    assert type(error) is TimedOut
    assert len(webhook.requests()) == 3


def test_a_function_with_little_memory_has_few_in_flight(
    webhook: WebhookServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "3")
    assert not make().send(events(50))
    assert len({request.connection for request in webhook.requests()}) == 3


def test_connections_of_one_that_rests_are_closed_when_another_needs_more(
    webhook: WebhookServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_IN_FLIGHT", START + 4)
    resting, other = make(), make()
    for target in (resting, other, resting):
        assert not target.send(events(20))
    used = [request.connection for request in webhook.requests()]
    assert not {*used[:20]} & {*used[40:]}


def test_one_in_flight_keeps_the_order(webhook: WebhookServer, make: Make) -> None:
    assert not make(in_flight="1").send(events(200))
    assert keys(webhook) == [minio.path(event_) for event_ in events(200)]
    assert len({request.connection for request in webhook.requests()}) == 1


def test_a_connection_closed_instead_of_an_answer(webhook: WebhookServer, make: Make) -> None:
    target = make(in_flight="1")
    assert not target.send(events(1))
    webhook.answer(Answer(close=True, times=1))
    assert not target.send(events(1))  # curl itself replaces a persistent connection
    webhook.answer(Answer(close=True))
    (error,) = target.send(events(1)).values()
    assert isinstance(error, NotConnected)


def test_without_cert_authority_the_systems_authorities_are_used(
    webhook: WebhookServer, make: Make, tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tls.ca))
    assert not make(webhook.tls_settings(cert_authority="")).send(events(1))


def test_a_certificate_for_another_host_is_refused(make: Make, tls: Tls) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tls.server_cert, tls.server_key)
    with endpoint(b"HTTP/1.1 200 OK\r\n\r\n", context=context) as (address, _):
        settings = {"endpoint": f"https://{address}/", "cert_authority": tls.ca.read_text()}
        (error,) = make(settings).send(events(1)).values()
    assert type(error) is NotConnected
    assert HOST in str(error)
