"""Properties are about answers, not about how busy the machine is."""

from hypothesis import settings

settings.register_profile("without deadlines", deadline=None)
settings.load_profile("without deadlines")
