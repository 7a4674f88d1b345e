"""What is wrong with a deployment, and what becomes of an event."""
