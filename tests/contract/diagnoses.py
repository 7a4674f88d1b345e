"""What `bucketcast doctor` finds at one target."""

from bucketcast.diagnose.target import diagnose
from bucketcast.finding import Finding
from bucketcast.targets.base import Target
from tests.contract.trial import MARK_OF_SECRETS, bounded


def findings(target: Target) -> list[Finding]:
    """What each step found; no secret is in it."""
    found = bounded(lambda: diagnose(lambda _: target))
    assert MARK_OF_SECRETS not in repr(found)
    return found


def fault(target: Target, check: str = "access") -> Finding:
    """The finding of this step, which ended the steps; all before are fine."""
    *before, last = findings(target)
    assert {each.status for each in before} <= {"ok"}, before
    assert (last.check, last.status) == (check, "error"), last
    assert last.hint
    assert last.hint not in last.found
    return last
