"""Faults of this stage, one a file."""
