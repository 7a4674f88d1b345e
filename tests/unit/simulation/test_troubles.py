"""Whose trouble is it? Every cell of the table holds its bounds."""

from collections.abc import Iterator

import pytest

from tests.unit.simulation.troubles.cell import Cell, see
from tests.unit.simulation.troubles.page import CELLS


def _cells() -> Iterator[object]:
    for cell in CELLS:
        marks = [pytest.mark.xfail(reason=cell.red, strict=True)] if cell.red else []
        yield pytest.param(cell, id=cell.name, marks=marks)


@pytest.mark.parametrize("cell", [*_cells()])
def test_trouble_stays_within_its_bounds(cell: Cell) -> None:
    assert not [*cell.bounds.exceeded(see(cell))]
