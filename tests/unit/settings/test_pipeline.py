"""A job's command line, as Glue passes it."""

import pytest

from bucketcast.settings.options import options_of
from bucketcast.settings.pipeline import JOBS, Job, Scan, parse

REQUIRED = [
    word for name in ("bucket", "run", "state", "ingress", "table") for word in (f"--{name}", "x")
]


def test_a_value_may_begin_with_a_hyphen() -> None:
    assert parse(Scan, ["--prefix", "-x/", *REQUIRED]).prefix == "-x/"
    assert parse(Scan, ["--prefix", "--bucket", *REQUIRED]).prefix == "--bucket"


def test_glues_own_arguments_are_ignored() -> None:
    glue = ["job.py", "--JOB_ID", "j_1", "--enable-metrics", "--job-bookmark-option", "disable"]
    assert parse(Scan, [*glue, *REQUIRED, "--alert_worse=5"]).alert_worse == 5


@pytest.mark.parametrize("job", JOBS.values())
def test_no_option_has_a_name_that_glue_reserves(job: type[Job]) -> None:
    """As AWS's documents and the CDK have them, which throws for these."""
    options = options_of(job)  # type: ignore[arg-type]  # classes are hashable
    assert {"debug", "mode", "JOB_NAME", "endpoint"}.isdisjoint(options)
