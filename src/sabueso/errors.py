"""What we raise; each message is one clear line that says what to do."""


class SabuesoError(Exception):
    """The base of all errors that a person is meant to read; `exit_status` is what the command ends with."""

    exit_status = 2


class UsageError(SabuesoError):
    """A command, option or name that can't be used as given."""


class ConfigError(SabuesoError):
    """A `[tool.sabueso]` section that can't be read."""


class StoreError(SabuesoError):
    """A run folder that is damaged, missing, or from a newer version."""
