"""Find objects with too many versions and prefixes with too many sub-folders, and alert on them.

::

    findings      keys and prefixes beyond a threshold                   counting
    coverage      what this scan and earlier ones may say of them        coverage
    alert states  the findings, compared with earlier alerts             alert_states, state
    alerts        an event for each finding that a rule matches          alerts
    report        the findings as Parquet, and as an HTML page           report

The thresholds and their defaults are the job's options: `bucketcast.settings.pipeline.Alerts`.
"""
