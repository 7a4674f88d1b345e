"""The commands that diagnose: doctor, explain, trace and test."""
