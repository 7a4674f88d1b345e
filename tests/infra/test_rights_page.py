"""`docs/rights.md` is what the template says, and each reason in it is about a right."""

from fnmatch import fnmatchcase
from typing import Any

import pytest

from tests import rights


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return rights.example()


def test_the_page_is_made_from_the_template(template: dict[str, Any]) -> None:
    assert rights.PAGE.read_text("utf-8") == rights.page(template)


def test_each_reason_is_about_a_right(template: dict[str, Any]) -> None:
    given = {(each.owner, each.action) for each in rights.rights(template)}
    needless = [
        (owner, action)
        for owner, action, _ in rights.REASONS
        if not any(owner in ("*", who) and fnmatchcase(what, action) for who, what in given)
    ]
    assert needless == []
