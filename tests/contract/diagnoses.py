"""The findings of `bucketcast doctor` for a target."""

from bucketcast.diagnose.target import diagnose
from bucketcast.finding import Finding
from bucketcast.targets.base import Target
from tests.contract.case import SECRET_MARK, bounded


def findings(target: Target) -> list[Finding]:
    """Return the findings of all steps, which contain no secret."""
    results = bounded(lambda: diagnose(lambda _: target))
    assert SECRET_MARK not in repr(results)
    return results


def fault(target: Target, check: str = "access") -> Finding:
    """Return the finding of the failed step `check`; all steps before succeeded."""
    *before, last = findings(target)
    assert {finding.status for finding in before} <= {"ok"}, before
    assert (last.check, last.status) == (check, "error"), last
    assert last.hint
    assert last.hint not in last.found
    return last
