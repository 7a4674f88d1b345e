"""Attaching buckets to the ingress queue: pure functions on bucket notification documents."""
