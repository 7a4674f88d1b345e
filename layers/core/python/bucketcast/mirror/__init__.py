"""The `namespace` format: the rules by which a mirror shows exactly what its bucket holds.

S3 delivers late, twice and out of order. Each key therefore has registers that only grow, so that
the result does not depend on order or repeats:

* `put`, one: the newest creation, by sequencer and then time. The row shows it, or nothing. A
  creation without a sequencer is older than any that has one.
* `removal`, one for each version named by it: `ANY` for those that name none or leave a delete
  marker. It hides the put if it is newer, and about `ANY` or the put's version. S3 never reuses a
  version id, so a removal that names one has the sequencer `FINAL`: it removes that version
  whichever of the two arrives first. "null" is reused, and has no such removal. What lifecycle
  removes by its id was not current: what replaced it hides it already, or will. It counts only if
  its version is shown, and leaves nothing otherwise. So does a removal before a put of its batch.
* `overlay`, one for each version: the newest of all other events, by time alone, because MinIO
  repeats the object's sequencer in some of them and gives others a new one. It lends its record to
  a row that shows an older put of its version; the record's `object` stays the put's.

Reads, scanner counts and removals of nothing move no register. An overlay without its put makes no
row, and waits for it. When the newest version, or the marker above it, is removed by its id, no
event says which older version becomes current: the key then has no row until it is put again or
looked up. The put of a version that ingest has seen there moves the register, so that no event from
before the removal counts; a row that shows this version keeps its record, but for the sequencer.

Removals and overlays are kept for `limits.TOMBSTONE_DAYS`, as no event that is taken is older.

`registers` folds a batch to at most one entry a register, `join` merges entries with what a target
has stored, `rows` reads stored rows back, and `synthetic` makes events from what a listing shows.
"""
