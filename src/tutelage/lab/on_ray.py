"""Jobs on Ray: `--on ray` or `--on ray:2` for this machine, `--on ray://HOST:PORT` or `--on ray:auto` for a cluster.

The folder of results must be one that all nodes see. Results travel through it and never through Ray's object store,
so nothing is spilled, and a driver that dies loses nothing that has landed.

Whoever reaches the ports of a Ray cluster can run code on it. So a cluster that is started here listens on the loopback
address alone and asks for a random token; the security of a cluster that is named by its address is its owner's.
"""

import os
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from tutelage.errors import TutelageError, how_to_install
from tutelage.lab.jobs import ATTEMPTS, Backend, Job, backend, carry_out, log

_OLDEST = (2, 52)  # the first version of Ray that can require a token
_LOOPBACK = "127.0.0.1"


@backend("ray")
def on_ray(rest: str) -> Backend:
    """``rest`` is empty or a number of workers for this machine, "auto" for the cluster around, or "//HOST:PORT"."""
    here = not rest or rest.isdecimal()

    def run(jobs: Sequence[Job], landed: Callable[[str], None]) -> None:
        ray = _started_here(rest) if here else _connected(rest)
        try:
            log.info("Ray with %s", {name: n for name, n in ray.cluster_resources().items() if name in ("CPU", "GPU")})
            wanted = jobs[0].device
            gpus = 1 if wanted == "cuda" or (wanted == "auto" and ray.cluster_resources().get("GPU")) else 0
            task = ray.remote(carry_out).options(num_cpus=1, num_gpus=gpus, max_retries=ATTEMPTS - 1)
            _collect(ray, [task.remote(replace(job, threads=1)) for job in jobs], landed)
        finally:
            if here:
                ray.shutdown()

    return run


def _imported() -> Any:
    try:
        import ray
    except ImportError:
        raise TutelageError(f"Ray is not installed: {how_to_install('cluster')}") from None
    return ray


def _connected(rest: str) -> Any:
    """Ray, connected to the cluster at an address."""
    ray, address = _imported(), f"ray:{rest}" if rest.startswith("//") else rest
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise TutelageError(
            f"no Ray cluster answers at '{address}' ({str(error).splitlines()[0]}): check the address"
        ) from None
    return ray


def _started_here(rest: str) -> Any:
    """Ray with a cluster of this machine's own: its dashboard off, reached from this machine with a token alone."""
    ray = _guarded()
    workers = int(rest) if rest else None
    try:
        ray.init(
            address="local",
            log_to_driver=False,
            include_dashboard=False,
            num_cpus=workers,
            _node_ip_address=_LOOPBACK,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise TutelageError(f"Ray cannot be started ({str(error).splitlines()[0]}): use --on processes") from None
    address = ray.util.get_node_ip_address()
    if address != _LOOPBACK or not _asks_for_a_token():
        ray.shutdown()
        raise TutelageError(
            f"Ray {ray.__version__} listens on {address} or asks for no token, which lets others run code here: "
            f"use --on processes"
        )
    return ray


def _guarded() -> Any:
    """Ray, told to listen on the loopback address and to ask for a token; its processes inherit both.

    On Linux Ray replaces a loopback address by one that other machines reach, unless clusters of machines are off.
    """
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    ray = _imported()
    if tuple(int(n) for n in re.findall(r"\d+", ray.__version__)[:2]) < _OLDEST:
        raise TutelageError(
            f"Ray {ray.__version__} cannot ask for a token: pip install 'ray>={_OLDEST[0]}.{_OLDEST[1]}'"
        )
    from ray._private import ray_constants

    ray_constants.ENABLE_RAY_CLUSTER = False  # the variable was read when Ray was imported, perhaps long before
    _raylet().Config.initialize("")  # and so was the mode of authentication
    return ray


def _asks_for_a_token() -> bool:
    return _raylet().get_authentication_mode() == _raylet().AuthenticationMode.TOKEN


def _raylet() -> Any:
    """Ray's compiled part."""
    return import_module("ray._raylet")


def _collect(ray: Any, pending: list[Any], landed: Callable[[str], None]) -> None:
    """Tell of experiments as they land; a task whose worker dies is retried by Ray."""
    while pending:
        done, pending = ray.wait(pending, num_returns=1)
        for reference in done:
            try:
                landed(ray.get(reference))
            except ray.exceptions.RayTaskError as error:
                raise error.as_instanceof_cause() from None
            except ray.exceptions.RayError as error:
                raise TutelageError(
                    f"an experiment could not be computed on Ray ({str(error).splitlines()[0]}): run it again"
                ) from None
