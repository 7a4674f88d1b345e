"""The model of scale beside the simulation, and the page that it writes."""

import pytest

from benchmarks.scale.__main__ import DOCS
from benchmarks.scale.compared import compare
from benchmarks.scale.constants import POLLERS_A_SECOND
from benchmarks.scale.model import Case, flow, ingest_seconds
from benchmarks.scale.page import page
from benchmarks.scale.pictures import pictures
from benchmarks.scale.simulation import Queue, arrivals
from bucketcast.cost.calls import POLLERS
from bucketcast.limits import BATCH_MESSAGES, INGEST_WINDOW_MESSAGES

CASES = [
    Case(rate, targets, window)
    for window in (0, 1)
    for targets in (1, 10)
    for rate in (1, 100, 1_000)
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_figure_is_that_of_the_simulation(case: Case) -> None:
    for name, (model, seen) in compare(case).items():
        assert seen == pytest.approx(model, rel=0.2), name


@pytest.mark.parametrize("window", [0, 1])
@pytest.mark.parametrize("targets", [1, 10])
def test_full_pollers_carry_what_the_model_says(targets: int, window: int) -> None:
    """So the first limits, and the hours of a backlog, are right."""
    queue = Queue(
        [0.0] * 60_000,
        window=window,
        most=INGEST_WINDOW_MESSAGES if window else BATCH_MESSAGES,
        pollers=POLLERS,
        seconds=lambda batch: ingest_seconds(len(batch), targets),
    ).play()
    ended = max(call.ended for call in queue.calls)
    case = Case(1, targets, window)
    hop = flow(case, ingest=POLLERS).ingest
    assert 60_000 / ended == pytest.approx(case.rate / hop.full, rel=0.2)


def test_lambda_adds_pollers_while_messages_wait() -> None:
    rate, pollers = 5_000.0, 25
    queue = Queue(
        arrivals(rate, 10.0),
        window=0,
        most=BATCH_MESSAGES,
        begin=POLLERS,
        pollers=pollers,
        seconds=lambda batch: ingest_seconds(len(batch), 1),
    ).play()
    began = [call.began for call in queue.calls]
    early, late = (sum(at <= each < at + 1 for each in began) for at in (0, 4))
    assert (POLLERS, queue.pollers) == (5, pollers)
    assert late / early == pytest.approx(1 + 4 * POLLERS_A_SECOND / POLLERS, rel=0.2)


def test_the_page_and_its_pictures_are_those_of_the_model() -> None:
    """If not: `python -m benchmarks.scale`."""
    text = (DOCS / "scale.md").read_text(encoding="utf-8")
    assert text == page(text)
    for name, svg in pictures().items():
        assert (DOCS / "pictures" / name).read_text(encoding="utf-8") == svg
