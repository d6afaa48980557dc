import errno
import os

import pytest

from transformer.support.limits import explained, told


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "too many open files; raise the limit (ulimit -n)"),
        (OSError(errno.ENFILE, os.strerror(errno.ENFILE)), "too many open files"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "memory ran out; free some"),
        (BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "(ulimit -u)"),
        (MemoryError(), "memory ran out"),
        (RuntimeError("can't start new thread"), "no more processes or threads can be started; use fewer"),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), "memory ran out"),
        (ImportError("libtorch_cpu.so: cannot open shared object file: Too many open files"), "too many open files"),
    ],
    ids=repr,
)
def test_a_limit_of_the_system_is_named_with_its_remedy(error, said):
    assert said in explained(error)


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), OSError("12 of 5"), ImportError("torch"), ValueError()]
)
def test_other_errors_are_not_about_a_limit(error):
    assert explained(error) is None


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "a/b"), "a/b: Permission denied; change its rights, or those of its"),
        (FileExistsError(17, "File exists", "a"), "a: File exists; name another one, or remove it"),
        (NotADirectoryError(20, "Not a directory", "a/b"), "a/b: Not a directory; a part of the path is a file; "),
        (OSError(errno.ENOSPC, "No space left on device", "a/b"), "a/b: No space left on device"),
        (ImportError("failed to map segment"), "failed to map segment: memory ran out; free some"),
        (MemoryError(), "memory ran out; free some"),
        (OSError("12 of 5"), "12 of 5"),
    ],
    ids=repr,
)
def test_an_error_names_its_file_first_and_its_remedy_last(error, said):
    assert told(error).startswith(said)
