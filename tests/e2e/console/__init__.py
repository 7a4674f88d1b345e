"""The console in a browser, both of which end with these tests."""
