"""Every answer that a server or a library can give has a verdict, and the code keeps to it."""

from importlib import import_module
from typing import Any

import pytest

from bucketcast import targets
from bucketcast.delivery.verdict import Answers as AnswersOfAPart
from bucketcast.delivery.verdict import possible_faults_of_settings
from bucketcast.errors import DeliveryError, Rejected
from bucketcast.settings.options import options_of
from bucketcast.targets.base.answers import Answer, Answers, Verdict, codes_of
from bucketcast.targets.elasticsearch.errors import Error, of_document
from bucketcast.targets.nats.batch import too_large
from bucketcast.targets.nats.jetstream import JetStream, _Error
from bucketcast.targets.nsq.batch import Limits
from tests.unit.delivery.bench import PLAIN
from tests.unit.delivery.test_verdict import part
from tests.unit.targets.answers import OF_LIBRARIES, OF_SERVERS


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
        if each.verdict is Verdict.SETTINGS:
            assert any(key in each.hint for key in keys), each
        elif each.verdict is not Verdict.AGAIN:
            assert each.codes or each.words


def is_its_size(error: DeliveryError) -> bool:
    """Return True if it is the event's own size, which no settings of the target change."""
    return not possible_faults_of_settings(part(1), AnswersOfAPart({0: error}), PLAIN)


@pytest.mark.parametrize("kind", OF_SERVERS)
def test_what_a_server_refuses_for_good_may_be_due_to_the_settings(kind: str) -> None:
    """It was dead-lettered by the million where the table or the address was wrong."""
    for code, error in OF_SERVERS[kind]():
        if isinstance(error, Rejected):
            assert is_its_size(error) == (code == "413"), code


@pytest.mark.parametrize("type_", ["mapper_parsing_exception", "strict_dynamic_mapping_exception"])
def test_a_document_that_an_index_refuses_may_be_due_to_the_settings(type_: str) -> None:
    error = of_document(400, Error(type_, "it"))
    assert (type(error), is_its_size(error)) == (Rejected, False)


@pytest.mark.parametrize(
    "error",
    [
        of_document(413, Error("413", "it")),
        too_large(99_000_000, 1),
        JetStream._stream_error(_Error(400, 10_054, "it"), 99_000_000),
        Limits(message=1).rejection(99_000_000),
    ],
)
def test_an_event_that_is_too_large_is_no_fault_of_the_settings(error: DeliveryError) -> None:
    """It would block a queue in order."""
    assert (type(error), is_its_size(error)) == (Rejected, True)


LIST = Answers(
    Answer(Verdict.SETTINGS, "7-9", "set key to {key}", ("that",)),
    Answer(Verdict.LOGIN, "7"),
    Answer(Verdict.SLOWER, "busy"),
    connections=[Answer(Verdict.SILENT, "TimeoutError", "is it there?")],
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
    assert codes_of(ConnectionResetError()) == (
        "ConnectionResetError",
        "ConnectionError",
        "OSError",
    )
