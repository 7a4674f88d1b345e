"""How the periods of retention depend on each other."""

from bucketcast import limits


def test_events_are_dead_lettered_before_sqs_drops_them() -> None:
    assert limits.TERM_DAYS < limits.RETENTION_DAYS <= 14


def test_a_removal_is_remembered_for_longer_than_an_older_event_can_come() -> None:
    assert limits.TOMBSTONE_DAYS >= limits.LONGEST_LIFE_DAYS + limits.RETENTION_DAYS


def test_an_event_redriven_twice_is_still_accepted_by_a_mirror() -> None:
    term = limits.RETENTION_DAYS + limits.DEAD_DAYS
    assert 3 * term <= limits.LONGEST_LIFE_DAYS


def test_events_of_a_listing_have_terms_left() -> None:
    term = limits.RETENTION_DAYS + limits.DEAD_DAYS
    assert limits.LISTING_DAYS + 2 * term <= limits.LONGEST_LIFE_DAYS
