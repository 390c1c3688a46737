"""Jobs on Ray: `--on ray` or `--on ray:2` for this machine, `--on ray://HOST:PORT` or `--on ray:auto` for a cluster.

The folder of results must be one that all nodes see. Results travel through it and never through Ray's object store,
so nothing is spilled, and a driver that dies loses nothing that has landed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tutelage.errors import Refusal
from tutelage.runs.jobs import ATTEMPTS, Backend, Job, backend, carry_out, log


@backend("ray")
def on_ray(rest: str) -> Backend:
    """``rest`` is empty or a number of workers for this machine, "auto" for the cluster around, or "//HOST:PORT"."""

    def run(jobs: Sequence[Job], landed: Callable[[str], None]) -> None:
        ray = _started(rest)
        gpus = 1 if jobs[0].device == "cuda" or (jobs[0].device == "auto" and ray.cluster_resources().get("GPU")) else 0
        task = ray.remote(carry_out).options(num_cpus=1, num_gpus=gpus, max_retries=ATTEMPTS - 1)
        try:
            _collect(ray, [task.remote(replace(job, threads=1)) for job in jobs], landed)
        finally:
            if not rest or rest.isdecimal():
                ray.shutdown()

    return run


def _started(rest: str) -> Any:
    """Ray, connected; a cluster of this machine's own when no address was given, with its dashboard off."""
    try:
        import ray
    except ImportError:
        raise Refusal("Ray is not installed: pip install 'tutelage[cluster]'") from None
    here = not rest or rest.isdecimal()
    address = "local" if here else f"ray:{rest}" if rest.startswith("//") else rest
    own = {"include_dashboard": False, "num_cpus": int(rest) if rest else None} if here else {}
    try:
        ray.init(address=address, log_to_driver=False, **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise Refusal(
            f"no Ray cluster answers at '{address}' ({str(error).splitlines()[0]}): check the address"
        ) from None
    log.info("Ray with %s", {name: n for name, n in ray.cluster_resources().items() if name in ("CPU", "GPU")})
    return ray


def _collect(ray: Any, pending: list[Any], landed: Callable[[str], None]) -> None:
    """Tell of packs as they land; a task whose worker dies is retried by Ray."""
    while pending:
        done, pending = ray.wait(pending, num_returns=1)
        for reference in done:
            try:
                landed(ray.get(reference))
            except ray.exceptions.RayTaskError as error:
                raise error.as_instanceof_cause() from None
            except ray.exceptions.RayError as error:
                raise Refusal(
                    f"a pack could not be computed on Ray ({str(error).splitlines()[0]}): run it again"
                ) from None
