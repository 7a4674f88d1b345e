"""Whose trouble is it? Every cell of the table holds its bounds, and the page has the table."""

import pytest

from tests.unit.simulation.troubles.cell import Cell, see
from tests.unit.simulation.troubles.page import CELLS, PAGE, table, written


@pytest.mark.parametrize("cell", CELLS, ids=[cell.name for cell in CELLS])
def test_trouble_stays_within_its_bounds(cell: Cell) -> None:
    assert not [*cell.bounds.exceeded(see(cell))]


def test_page_has_what_the_command_prints() -> None:
    """`python -m tests.unit.simulation.troubles` writes it anew."""
    text = PAGE.read_text(encoding="utf-8")
    assert written(text, table(CELLS, map(see, CELLS))) == text
