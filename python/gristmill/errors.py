"""What goes wrong, as exceptions: one tree under :class:`Error`, each also the built-in that its kind is."""


class Error(Exception):
    """The base of all errors of the package.

    Beside the text, an error carries what it tells of as attributes, where it has them: ``path``, ``expected``, ``found``,
    ``stage``, ``position``.
    """


class FileError(Error, OSError):
    """The system refused an operation on a file."""


class NotFoundError(FileError, FileNotFoundError):
    """There is no such file."""


class DeniedError(FileError, PermissionError):
    """The file may not be read or written."""


class FormatError(Error, ValueError):
    """A file is not of the kind it was opened as, has a header that cannot be read, or has another length than it says."""


class ChangedError(Error, OSError):
    """A file changed after it was opened."""


class RowsError(Error, ValueError):
    """Columns of one dataset have different numbers of rows."""


class RowError(Error, IndexError):
    """A row number beyond the end."""


class SpecError(Error, ValueError):
    """A dtype, shape or set of columns other than the one asked for."""


class ArgumentError(Error, ValueError):
    """A verb was given an argument it cannot take."""


class ResumeError(Error, ValueError):
    """A state belongs to another stream."""


class OutOfMemoryError(Error, MemoryError):
    """Memory that cannot be had, or that the budget does not allow."""


class ItemError(Error, ValueError):
    """An item does not have the declared or required form. It takes the item's place; the iterator goes on after it."""


class StoppedError(Error, RuntimeError):
    """An item failed that the policy of ``on_error`` does not pass over; its own exception is the cause."""


class PanicError(Error, RuntimeError):
    """A bug in Gristmill."""


class ThreadError(Error, RuntimeError):
    """A thread could not be started."""


class ClosedError(Error, RuntimeError):
    """The iterator was closed."""


class ForkError(Error, RuntimeError):
    """What was made before a fork is used in the child."""
