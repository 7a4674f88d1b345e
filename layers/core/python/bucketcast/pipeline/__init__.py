"""The pipeline's jobs as users know them: their settings, their runs, and the commands."""
