"""Whole scans of a generated Inventory report, beside DuckDB; and each job at several sizes."""
