"""What of S3's API is answered here."""
