"""How the retention periods depend on each other."""

from bucketcast.delivery import retention


def test_we_bury_before_sqs_drops() -> None:
    assert retention.TERM_DAYS < retention.RETENTION_DAYS <= 14


def test_a_removal_is_remembered_for_longer_than_an_older_event_can_come() -> None:
    assert retention.TOMBSTONE_DAYS >= retention.LONGEST_LIFE_DAYS + retention.RETENTION_DAYS


def test_an_event_redriven_twice_is_still_accepted_by_a_mirror() -> None:
    term = retention.RETENTION_DAYS + retention.DEAD_DAYS
    assert 3 * term <= retention.LONGEST_LIFE_DAYS


def test_what_is_made_from_a_listing_has_terms_left() -> None:
    term = retention.RETENTION_DAYS + retention.DEAD_DAYS
    assert retention.LISTING_DAYS + 2 * term <= retention.LONGEST_LIFE_DAYS
