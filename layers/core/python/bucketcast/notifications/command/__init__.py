"""The commands of buckets, rules and Ceph's notifications."""
