"""Errors of the system in words: limits of memory, open files, processes and threads, and rights of files."""

import errno

_MEMORY = "memory ran out; free some, or raise the limit (ulimit -v)"
_FILES = "too many open files; raise the limit (ulimit -n)"
_PROCESSES = "no more processes or threads can be started; use fewer, or raise the limit (ulimit -u)"
_BY_NUMBER = {errno.EMFILE: _FILES, errno.ENFILE: _FILES, errno.ENOMEM: _MEMORY, errno.EAGAIN: _PROCESSES}
_BY_TEXT = {
    "Too many open files": _FILES,
    "can't start new thread": _PROCESSES,
    "Resource temporarily unavailable": _PROCESSES,
    "failed to map segment": _MEMORY,
    "annot allocate memory": _MEMORY,
}

_BY_KIND = {
    FileExistsError: "name another one, or remove it",
    FileNotFoundError: "correct the path",
    IsADirectoryError: "name a file in it",
    NotADirectoryError: "a part of the path is a file; correct the path",
    PermissionError: "change its rights, or those of its folders (chmod)",
}


def explained(error: BaseException) -> str | None:
    """Which limit an error is about, and the remedy. None for an error of another kind."""
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, OSError) and error.errno in _BY_NUMBER:
        return _BY_NUMBER[error.errno]
    return next((words for text, words in _BY_TEXT.items() if text in str(error)), None)


def remedy(error: BaseException) -> str:
    """What a user can do about an error of a path; empty if it is not known."""
    return next((cure for kind, cure in _BY_KIND.items() if isinstance(error, kind)), "")


def told(error: BaseException) -> str:
    """What an error says, without its number: first the file, if it names one, and at the end the remedy, if known."""
    text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
    if cure := remedy(error):
        return f"{text}; {cure}"
    return ": ".join(filter(None, (text, explained(error))))
