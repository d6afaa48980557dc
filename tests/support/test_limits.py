import errno
import os

import pytest

from transformer.support.limits import explained


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
