"""A refusal by a server may be due to the settings, but not that of an event's size.

What each server refuses when its table or address is wrong was dead-lettered by the million; for
events that are too large a queue in order was blocked.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pytest

from bucketcast import targets
from bucketcast.delivery.verdict import Answers, possible_faults_of_settings
from bucketcast.errors import DeliveryError, Rejected
from bucketcast.targets.elasticsearch import errors as elasticsearch
from bucketcast.targets.nats.batch import too_large
from bucketcast.targets.nats.jetstream import JetStream, _Error
from bucketcast.targets.nsq.batch import Limits
from tests.unit.delivery.bench import PLAIN
from tests.unit.delivery.test_verdict import part
from tests.unit.targets.answers import OF_SERVERS

LARGE = 99_000_000
SIZE = ("bytes", "message size", "larger than the server takes", "answered 413")


def of_elasticsearch() -> Iterator[DeliveryError]:
    for type_ in ("mapper_parsing_exception", "strict_dynamic_mapping_exception", "other"):
        for status in range(400, 600):
            yield elasticsearch.of_document(status, elasticsearch.Error(type_, "it"))


def of_nats() -> Iterator[DeliveryError]:
    yield too_large(LARGE, 1)
    for code in (0, 10_054, 10_071):
        yield JetStream._stream_error(_Error(400, code, "it"), LARGE)


def of_nsq() -> Iterator[DeliveryError]:
    yield Limits(message=1).rejection(LARGE)


def _errors(kind: str) -> Iterator[DeliveryError]:
    return (error for _, error in OF_SERVERS[kind]())


ANSWERS: dict[str, Callable[[], Iterable[DeliveryError]]] = {
    **{kind: partial(_errors, kind) for kind in OF_SERVERS},
    "elasticsearch": of_elasticsearch,
    "nats": of_nats,
    "nsq": of_nsq,
}


@pytest.mark.parametrize("kind", targets.kinds())
def test_what_a_server_refuses_for_good_may_be_due_to_the_settings(kind: str) -> None:
    answers = [*ANSWERS[kind]()]
    assert answers
    for error in filter(lambda error: isinstance(error, Rejected), answers):
        its_size = any(word in str(error) for word in SIZE)
        found = possible_faults_of_settings(part(1), Answers({0: error}), PLAIN)
        assert found == (not its_size), str(error)
