"""Whole scans of a generated Inventory report in Parquet, beside DuckDB and polars."""
