"""The console of a deployed stack in moto."""

import pytest

from tests.unit.console.site import Site
from tests.unit.moto_aws import MotoAws


@pytest.fixture
def site(aws: MotoAws) -> Site:
    return Site(aws)
