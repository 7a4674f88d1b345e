"""Every figure that the README quotes comes from here."""
