"""Errors that a user can act on: one sentence, the config key, what would be right."""


class BertxferError(Exception):
    """Anything said to the user without a traceback; `status` is what the process then exits with."""

    status = 1


class ConfigError(BertxferError):
    """A value of the config that cannot be run, with the key that holds it."""

    status = 2

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key


class DataError(BertxferError):
    """A data set that cannot be used, with the file and where in it."""

    def __init__(self, place: object, message: str) -> None:
        super().__init__(f"{place}: {message}")


class TrialError(BertxferError):
    """A trial that started and could not end in a result."""
