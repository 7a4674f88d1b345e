"""Attaching buckets on AWS: notification configurations, EventBridge rules, trails."""
