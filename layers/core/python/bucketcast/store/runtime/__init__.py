"""Targets made at run time, on AWS: the table, what is made for them, and how ingest finds them."""
