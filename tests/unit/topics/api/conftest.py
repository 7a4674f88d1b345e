"""The application that answers topic calls."""

import pytest

from tests.unit.dynamic_targets.account import Account
from tests.unit.topics.api.sns_calls import Server


@pytest.fixture
def server(account: Account) -> Server:
    return Server(account)
