"""A method of a user is called in a process of its own: it may raise, hang or end it, and one sentence says so.

The child is a fork, so that a function of a notebook needs no file. It computes with one thread: a fork has lost the
other threads of OpenMP, and a parallel loop would wait for them for ever.
"""

import multiprocessing
import pickle
import random
import signal
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch

from tutelage.errors import TutelageError
from tutelage.settings import one_line

T = Any


def guarded(name: str, work: Callable[[], T], seconds: float) -> T:
    """What ``work`` returns, computed in a child process.

    Parameters
    ----------
    name
        Of the method, for the sentence.
    work
        Returns something that can be pickled.
    seconds
        Time limit.

    Returns
    -------
    object
        A :class:`~tutelage.TutelageError` says in one sentence what went wrong, if anything did.
    """
    if "fork" not in multiprocessing.get_all_start_methods():  # there is no child to be had: without a time limit
        return _here(name, work)
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
        child = context.Process(target=_child, args=(sending, work), daemon=True)
        child.start()
    sending.close()
    try:
        if not receiving.poll(seconds):
            raise TutelageError(
                f"the method '{name}' took longer than {seconds:g} seconds: make it faster or give --seconds"
            )
        outcome, value = pickle.loads(receiving.recv_bytes())
    except EOFError:
        child.join(5)
        raise TutelageError(f"the method '{name}' ended its process (exit code {child.exitcode}): fix it") from None
    finally:
        child.kill()
        child.join()
        receiving.close()
    if outcome == "error":
        raise TutelageError(f"the method '{name}' fails {value}: fix it and run again")
    return value


def _here(name: str, work: Callable[[], T]) -> T:
    try:
        return work()
    except TutelageError:
        raise
    except Exception as error:
        raise TutelageError(f"the method '{name}' fails {_about(error)}: fix it and run again") from None


def _child(sending: Connection, work: Callable[[], T]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    _one_thread()
    # A fork would draw what its siblings draw, and a method without a seed would look as if it had one.
    random.seed()
    np.random.seed()  # noqa: NPY002
    torch.seed()
    try:
        message = "value", work()
    except BaseException as error:
        message = "error", _about(error)
    try:
        packed = pickle.dumps(message)  # a pipe of multiprocessing would send tensors by files that this process holds
    except Exception as error:  # what a method returns may be anything, and what pickling it raises is as various
        packed = pickle.dumps(("error", _about(error)))
    sending.send_bytes(packed)


def _one_thread() -> None:
    torch.set_num_threads(1)
    with suppress(ImportError):
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)


def _about(error: BaseException) -> str:
    """The last line of a user's file that an error came through, and the error."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "tutelage" not in frame.filename or "_plugin_" in frame.filename]
    where = f"at line {own[-1].lineno} " if own else ""
    return one_line(f"{where}({type(error).__name__}: {error})")
