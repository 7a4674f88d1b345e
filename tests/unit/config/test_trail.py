"""The trail of access events: an own one or one that exists."""

import pytest

from bucketcast.errors import ConfigErrors
from tests.unit.config.folder import Folder


def test_access_events_are_noted_with_their_cost(folder: Folder) -> None:
    deployment = folder.load("[bucket.uploads]\naccess_events = 'on'")
    assert deployment.buckets["uploads"].access_events
    assert "$1.00 per million" in deployment.notes[0]
    assert (deployment.trail.name, deployment.trail.bucket_events) == ("", False)


@pytest.mark.parametrize(
    "name", ["everything", "arn:aws:cloudtrail:eu-central-1:111122223333:trail/every.thing-1"]
)
def test_existing_trail_can_be_named(folder: Folder, name: str) -> None:
    deployment = folder.load(f"[trail]\nname = '{name}'\nbucket_events = 'on'")
    assert (deployment.trail.name, deployment.trail.bucket_events) == (name, True)
    assert "which the deploy does not switch on" in deployment.notes[0]


@pytest.mark.parametrize("name", ["a/b", "x", "arn:aws:s3:::everything", "arn:aws:cloudtrail:x:y"])
def test_invalid_trail_is_refused(folder: Folder, name: str) -> None:
    with pytest.raises(ConfigErrors, match=r"trail\.name: found .* or its ARN"):
        folder.load(f"[trail]\nname = '{name}'")


@pytest.mark.parametrize(("buckets", "expected"), [(55, False), (56, True)])
def test_too_many_buckets_for_a_trail_are_noted(
    folder: Folder, buckets: int, *, expected: bool
) -> None:
    text = "".join(f"[bucket.b-{number:03}]\naccess_events = 'on'\n" for number in range(buckets))
    notes = [note for note in folder.load(text).notes if "prefixes of rules may be" in note]
    assert bool(notes) == expected


def test_trail_with_foreign_selectors_needs_a_name(folder: Folder) -> None:
    (problem,) = folder.problems("[trail]\nmanage_selectors = 'off'")
    assert problem.startswith(
        "trail.manage_selectors: found 'off'; allowed is off with a name only"
    )
    name = "arn:aws:cloudtrail:eu-west-1:444455556666:trail/everybody"
    on = f"[bucket.uploads]\naccess_events = 'on'\n[trail]\nname = '{name}'\n"
    assert folder.load(on).trail.manage_selectors
    deployment = folder.load(f"{on}manage_selectors = 'off'", local=False)
    assert not deployment.trail.manage_selectors
    (note,) = [note for note in deployment.notes if note.startswith("trail.")]
    assert note.startswith("trail.manage_selectors: uploads: events of GetObject, ")
