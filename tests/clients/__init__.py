"""The functional tests that MinIO's clients come with, and calls of the AWS CLI."""
