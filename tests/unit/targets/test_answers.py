"""Every answer that a server or a library can give has a verdict, and the code keeps to it."""

from importlib import import_module
from typing import Any

import pytest
from redis.exceptions import ResponseError

from bucketcast import limits, targets
from bucketcast.delivery.ruling import Answers as AnswersOfAPart
from bucketcast.delivery.ruling import Now, of_part, possible_faults_of_settings
from bucketcast.delivery.verdict import Fate, of_event
from bucketcast.errors import DeliveryError, NotConnected, Rejected
from bucketcast.settings.options import options_of
from bucketcast.targets.base.answers import Answers, TooLargeError, Verdict, codes_of, describe
from bucketcast.targets.redis.answers import ANSWERS as REDIS
from bucketcast.targets.webhook import errors as webhook
from bucketcast.targets.webhook.batch import _beside_others
from tests.unit.delivery.bench import IN_ORDER, NOW, PLAIN
from tests.unit.delivery.test_verdict import FRESH, item, part
from tests.unit.targets.answers import OF_LIBRARIES, OF_SERVERS
from tests.unit.targets.answers_of_stores import WEBHOOK


def listed(kind: str) -> Answers:
    answers: Answers = import_module(f"bucketcast.targets.{kind}.answers").ANSWERS
    return answers


@pytest.mark.parametrize("kind", OF_SERVERS)
def test_every_code_has_a_verdict_which_counts(kind: str) -> None:
    errors = dict(OF_SERVERS[kind]())
    verdicts = {code: listed(kind).find("", code.split()) for code in errors}
    assert errors
    assert [code for code, answer in verdicts.items() if answer is None] == []
    wrong = {
        code: (error, answer.verdict)
        for code, error in errors.items()
        if (answer := verdicts[code]) and type(error) is not answer.verdict.error
    }
    assert wrong == {}


@pytest.mark.parametrize("kind", OF_LIBRARIES)
def test_every_exception_of_the_library_is_translated(kind: str) -> None:
    errors = dict(OF_LIBRARIES[kind]())
    assert errors
    assert [name for name, error in errors.items() if error.unlisted] == []


@pytest.mark.parametrize("kind", OF_SERVERS)
def test_an_answer_for_other_settings_names_one(kind: str) -> None:
    declared: Any = targets.load(kind).Settings
    keys = [*options_of(declared), "topic", "stream", "packet"]
    for each in listed(kind).own:
        if each.verdict in (Verdict.SETTINGS, Verdict.ROW):
            assert any(key in each.hint for key in keys), each


FAULTS = {
    "mysql": {"no time": "1292", "no JSON": "3140", "too deep for any JSON": "3157"},
    "postgres": {
        "no time": "22007 22008",
        "no JSON": "22P02",
        "a NUL, which no text holds": "22021 22P05",
    },
    "webhook": {"what the receiver itself says of an event": "400 422"},
}
"""What is wrong with an event that no target of its kind would take, and the codes of that."""


@pytest.mark.parametrize("kind", targets.kinds())
def test_what_a_repair_of_the_target_cures_is_not_dead_lettered(kind: str) -> None:
    own = [each.codes for each in listed(kind).own if each.verdict is Verdict.EVENT]
    faults = FAULTS.get(kind, {})
    assert sorted(" ".join(own).split()) == sorted(" ".join(faults.values()).split())


@pytest.mark.parametrize(
    ("numbers", "state", "text"),
    [
        ("1062 1022 1169 1586", "23505", "another unique index"),
        ("1048 1216 1217 1451 1452", "23503", "a foreign key"),
        ("3819 4025 1526", "23514", "a check, or no partition"),
        ("1265 1406", "22001", "a text that is too long"),
        ("1264 1690", "22003", "a number out of range"),
        ("1365", "22012", "a division by zero"),
        ("1339", "20000", "no case, in a trigger"),
        ("1118", "54000", "too large a row"),
        ("1366", "22P05", "character has no equivalent in encoding"),
        ("1292", "22008", "Incorrect datetime value"),
        ("3140", "22P02", "invalid input syntax for type json"),
        ("1644", "P0001", "a trigger"),
        ("1205", "55P03", "a lock"),
    ],
)
def test_both_databases_mean_the_same(numbers: str, state: str, text: str) -> None:
    found = listed("postgres").find(text, [state, state[:2]])
    same = [listed("mysql").find(text, [number]) for number in numbers.split()]
    assert found
    assert [each and each.verdict for each in same] == [found.verdict] * len(same)


_HTTP = "webhook elasticsearch"


@pytest.mark.parametrize(
    ("kinds", "codes", "text", "verdict"),
    [
        (_HTTP, "400", "400 Bad Request The SSL certificate error nginx", "LOGIN"),
        (_HTTP, "400", "No required SSL certificate was sent", "LOGIN"),
        (_HTTP, "495 496 407", "", "LOGIN"),
        (_HTTP, "400", "The plain HTTP request was sent to HTTPS port", "SETTINGS"),
        (_HTTP, "400", "Client sent an HTTP request to an HTTPS server.", "SETTINGS"),
        ("elasticsearch", "index_create_block_exception", "", "AGAIN"),
        ("elasticsearch", "strict_dynamic_mapping_exception", "", "ROW"),
        ("elasticsearch", "400 illegal_argument_exception", "", "ROW"),
        ("amqp", "530", "refused for user 'u': connection limit (9) is reached", "SLOWER"),
        ("mysql", "3118 3955 1524", "", "LOGIN"),
        ("mysql", "1047", "WSREP has not yet prepared node", "AWAY"),
        ("mqtt", "0x99", "", "ROW"),
        ("nsq", "E_BAD_BODY E_BAD_MESSAGE", "MPUB invalid body size 1", "AGAIN"),
        ("postgres", "42501", "new row violates row-level security policy for table", "ROW"),
    ],
)
def test_what_servers_say_of_the_target(kinds: str, codes: str, text: str, verdict: str) -> None:
    for answers in map(listed, kinds.split()):
        found = [answers.find(text, [code]) for code in codes.split()]
        assert {each and each.verdict for each in found} == {Verdict[verdict]}


NAMES = (
    "access to vhost, internal exchange, message size, rate-limits, reserved prefix",
    "fire alert, job timed out, CERTIFICATE_VERIFY_FAILED, SSL certificate, private key",
    "Document contains secrets, mapper [1]",
)
"""Texts that users write, and servers repeat."""


@pytest.mark.parametrize("kind", targets.kinds())
def test_what_a_user_writes_has_no_verdict(kind: str) -> None:
    answers = listed(kind)
    codes = {code for each in answers.own for code in each.codes.split()}
    librarys = {code for code in codes if code.startswith(("_", "unreachable"))}
    for code in (codes | {"520", "99999", "engine_exception"}) - librarys:
        for name in NAMES:
            assert answers.find(f"it refused '{name}' of x", [code]) == answers.find("", [code])


@pytest.mark.parametrize("kind", targets.kinds())
def test_only_an_alert_about_the_certificate_wants_another_one(kind: str) -> None:
    alerts = ("bad certificate", "unknown ca", "certificate required", "internal error")
    codes = ("SSLError", "HTTPError", "unreachable", "2013", "56")  # of the clients' libraries
    found = [listed(kind).find(f"[SSL] tlsv1 alert {alert} (_ssl.c:1)", codes) for alert in alerts]
    assert [each and each.verdict for each in found] == [*[Verdict.LOGIN] * 3, Verdict.AWAY]


def test_the_code_of_a_scripts_command_counts() -> None:
    text = "Error running script (call to f_a): @user_script:12: @user_script: 12: -READONLY no"
    assert isinstance(REDIS.of(ResponseError(text), "h"), NotConnected)


@pytest.mark.parametrize("kind", OF_SERVERS)
def test_what_a_server_refuses_for_good_may_be_due_to_the_settings(kind: str) -> None:
    """It was dead-lettered by the million where the table or the address was wrong."""
    for code, error in OF_SERVERS[kind]():
        if isinstance(error, Rejected):
            assert possible_faults_of_settings(
                part(1), AnswersOfAPart({0: error}), PLAIN, took=False
            ), code


def fate_in_order(error: DeliveryError) -> Fate:
    """Return what becomes of an event that has held up a queue in order for two hours."""
    sent, receives = NOW - 2 * limits.HELD_UP_MS, limits.CRASHED_RECEIVES + 1
    return of_event(item("a", IN_ORDER, sent=sent, receives=receives).fail(error), NOW).fate


SIZES = {
    "amqp": ("message size 9 is larger than configured max size 8", "311 406"),
    "elasticsearch": ("", "413"),
    "kafka": ("", "MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE"),
    "mqtt": ("", "0x95"),
    "mysql": ("", "1153 1301"),
    "nats": ("", "10054 MaxPayloadError"),
    "nsq": ("MPUB message too big 9 > 8", "E_BAD_BODY E_BAD_MESSAGE"),
    "postgres": ("index row size 9 exceeds btree version 4 maximum 8", "54"),
    "redis": ("Protocol error: invalid bulk length", "ERR ResponseError"),
    "webhook": ("", "413"),
}
"""What the server of each kind says of what is too large at its settings: a text, and codes."""


@pytest.mark.parametrize("kind", targets.kinds())
def test_what_is_too_large_for_a_setting_is_halved_and_waits_alone(kind: str) -> None:
    text, codes = SIZES[kind]
    errors = [listed(kind).error("h", text, [code], topic="t") for code in codes.split()]
    for error in (*errors, TooLargeError("as a target finds out by itself")):
        whole = AnswersOfAPart({0: error, 1: error}, whole=True)
        ruling = of_part(part(2), whole, FRESH._replace(wholes=99 * error.halves), Now(), PLAIN)
        assert (ruling.halves, ruling.error, error.alone) == (True, None, True)
        assert of_event(item("a").fail(error), NOW).fate is Fate.AGAIN
        assert fate_in_order(error) is Fate.DEAD


OF_ALL = "401 403 407 408 415 421 423 425 429"
"""The statuses that say nothing of the one request: of login, settings, server or haste."""


def test_what_http_says_of_one_request_holds_up_no_queue_in_order() -> None:
    fates = {code: fate_in_order(error) for code, error in OF_SERVERS["webhook"]()}
    waits = [code for code, fate in fates.items() if "400" <= code < "500" and fate is Fate.AGAIN]
    assert " ".join(waits) == OF_ALL


def test_an_answer_beside_others_is_logged_too() -> None:
    error = webhook.connection_error(WEBHOOK, 199, "it", guard=None)
    assert (error.unlisted, _beside_others(error).unlisted) == ("199", "199")


LIST = Answers(
    Verdict.SETTINGS("7-9", "set key to {key}", "that"),
    Verdict.LOGIN("7"),
    Verdict.SLOWER("busy"),
    connections=[Verdict.SILENT("TimeoutError", "is it there?")],
)


@pytest.mark.parametrize(
    ("text", "code", "stage", "expected"),
    [
        ("that", "7", "answer", "Retryable: h: that; set key to k"),
        ("that", "9", "connect", "NotConnected: h: that; set key to k"),
        ("this", "7", "connect", "NotAuthorized: h: this"),
        ("this", "busy", "connect", "Throttled: h: this"),
        ("late", "TimeoutError", "connect", "TimedOut: h: late; is it there?"),
        ("late", "TimeoutError", "answer", "TimedOut: h: late"),
        ("this", "8", "answer", "Retryable: h: this"),
    ],
)
def test_the_first_answer_that_fits_counts(text: str, code: str, stage: str, expected: str) -> None:
    error = LIST.error("h", text, [code], connecting=stage == "connect", key="k")
    assert f"{type(error).__name__}: {error}" == expected
    assert error.unlisted == ("8" if code == "8" else "")


def test_the_codes_of_an_exception_are_its_classes() -> None:
    assert describe(TimeoutError("nats: timeout")) == (
        "no answer in time",
        codes_of(TimeoutError()),
    )
    assert codes_of(ConnectionResetError()) == [
        "ConnectionResetError",
        "ConnectionError",
        "OSError",
    ]
