"""What must outlive what; the figures themselves are said nowhere else."""

from bucketcast import lifetime


def test_we_bury_before_sqs_drops() -> None:
    assert lifetime.TERM_DAYS < lifetime.RETENTION_DAYS <= 14


def test_a_removal_is_remembered_for_longer_than_an_older_event_can_come() -> None:
    assert lifetime.TOMBSTONE_DAYS >= lifetime.LONGEST_LIFE_DAYS + lifetime.RETENTION_DAYS


def test_an_event_may_be_redriven_twice_and_is_still_taken_by_a_mirror() -> None:
    term = lifetime.RETENTION_DAYS + lifetime.DEAD_DAYS
    assert 3 * term <= lifetime.LONGEST_LIFE_DAYS


def test_what_is_made_from_a_listing_has_terms_left() -> None:
    term = lifetime.RETENTION_DAYS + lifetime.DEAD_DAYS
    assert lifetime.LISTING_DAYS + 2 * term <= lifetime.LONGEST_LIFE_DAYS
