"""Whose trouble is it? Every cell of the table holds its bounds, and the page has the table."""

from collections.abc import Iterator

import pytest

from tests.unit.simulation.troubles.cell import Cell, see
from tests.unit.simulation.troubles.page import CELLS, PAGE, table, written


def _cells() -> Iterator[object]:
    for cell in CELLS:
        marks = [pytest.mark.xfail(reason=cell.red, strict=True)] if cell.red else []
        yield pytest.param(cell, id=cell.name, marks=marks)


@pytest.mark.parametrize("cell", [*_cells()])
def test_trouble_stays_within_its_bounds(cell: Cell) -> None:
    assert not [*cell.bounds.exceeded(see(cell))]


def test_page_has_what_the_command_prints() -> None:
    """`python -m tests.unit.simulation.troubles` writes it anew."""
    text = PAGE.read_text(encoding="utf-8")
    assert written(text, table(CELLS, map(see, CELLS))) == text
