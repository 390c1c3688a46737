"""Assertions about networks for a test suite; each failure says where, by how much, and what to do.

>>> from tutelage.testing import assert_within
>>> import torch
>>> from tutelage import Network
>>> net = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
>>> assert_within(net, net.map(lambda w: w * (1 + 1e-7)), 1e-5, (-1, 1))

With pytest they are fixtures of the same names as well. Importing this module imports no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from tutelage.functions import Answer, Domain
    from tutelage.functions.domain import Ends

__all__ = ["assert_same_function", "assert_top1", "assert_valid_export", "assert_within"]

_SHOWN = 8  # numbers of an input or an output that are told
_SECONDS = 60.0


def assert_same_function(
    a: object, b: object, domain: Domain | Ends | None = None, *, seconds: float = _SECONDS, **options: Any
) -> None:
    """Assert that two networks are the same function up to the rounding of their weights.

    Parameters
    ----------
    a, b
        Networks, torch modules, MLPs of scikit-learn or paths of files.
    domain
        Where: a domain or the ends (low, high) of a box; default: for all inputs.
    seconds
        Time limit. What is not decided by then fails.
    **options
        Further options of :func:`tutelage.same_function`, such as ``tolerance``.

    Raises
    ------
    AssertionError
        With the input of the largest difference found, both outputs, the first layer that parts, and what to do.

    Examples
    --------
    >>> import torch
    >>> from tutelage.networks import Network
    >>> network = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> assert_same_function(network, network)
    >>> other = Network((torch.eye(2)[None], 2 * torch.ones(1, 2, 1)))
    >>> try:
    ...     assert_same_function(network, other, (-1, 1))
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    the networks are not proved to be the same function on the box from -1 to 1 in 2 dimensions
    """
    __tracebackhide__ = True
    from tutelage.functions import same_function

    found = same_function(a, b, domain, seconds=seconds, **options)
    if not found.same:
        _fail(a, b, found, "the networks are not proved to be the same function", "assert_within allows a difference")


def assert_within(
    a: object, b: object, epsilon: float, domain: Domain | Ends, *, seconds: float = _SECONDS, **options: Any
) -> None:
    """Assert that no output of two networks differs by more than epsilon on a bounded domain.

    Parameters
    ----------
    a, b
        Networks, torch modules, MLPs of scikit-learn or paths of files.
    epsilon
        Largest difference allowed.
    domain
        A domain or the ends (low, high) of a box.
    seconds
        Time limit. What is not decided by then fails.
    **options
        Further options of :func:`tutelage.functions.difference_bound`, such as ``output``.

    Raises
    ------
    AssertionError
        With the input of the largest difference found, both outputs, the first layer that parts, and what to do.

    Examples
    --------
    >>> import torch
    >>> from tutelage.networks import Network
    >>> network = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> rounded = Network((torch.eye(2)[None], 1.01 * torch.ones(1, 2, 1)))
    >>> assert_within(network, rounded, 0.03, (-1, 1))
    """
    __tracebackhide__ = True
    from tutelage.functions import difference_bound

    found = difference_bound(a, b, domain, epsilon, seconds=seconds, **options)
    if not found.holds:
        _fail(a, b, found, f"the networks are not proved to stay within {epsilon:g}", "a larger epsilon may hold")


def assert_top1(a: object, b: object, domain: Domain | Ends, *, seconds: float = _SECONDS, **options: Any) -> None:
    """Assert that two classifiers have the same top class everywhere on a bounded domain.

    Parameters
    ----------
    a, b
        Networks, torch modules, MLPs of scikit-learn or paths of files.
    domain
        A domain or the ends (low, high) of a box.
    seconds
        Time limit. What is not decided by then fails.
    **options
        Further options of :func:`tutelage.functions.top_class_agreement`, such as ``margin``.

    Raises
    ------
    AssertionError
        With an input where the classes differ if one was found, both outputs, the first layer that parts, and what to
        do.

    Examples
    --------
    >>> import torch
    >>> from tutelage.networks import Network
    >>> network = Network((torch.eye(2)[None], torch.eye(2)[None]))
    >>> twice = Network((torch.eye(2)[None], 2 * torch.eye(2)[None]))
    >>> assert_top1(network, twice, (0.1, 1), margin=0.01)  # other numbers, the same class
    """
    __tracebackhide__ = True
    from tutelage.functions import top_class_agreement

    found = top_class_agreement(a, b, domain, seconds=seconds, **options)
    if not found.holds:
        help_ = "margin=0.1 leaves out inputs where the first network is not sure of its class"
        _fail(a, b, found, "the networks are not proved to have the same top class", help_)


def assert_valid_export(
    module: object,
    exported: object,
    domain: Domain | Ends | None = None,
    data: Tensor | None = None,
    *,
    tolerance: float = 1e-4,
    seconds: float = _SECONDS,
) -> None:
    """Assert that an exported file or network still is the original.

    Parameters
    ----------
    module, exported
        The original, and the file or network that was made of it.
    domain
        Where the bound has to hold; default: the range of the data per input.
    data
        Inputs [N, d].
    tolerance
        Largest difference of an output that is allowed.
    seconds
        Time limit. What is not decided by then fails.

    Raises
    ------
    AssertionError
        With the worst input, both outputs, the first layer that parts, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> from tutelage.networks import Network, save_network
    >>> network = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_network(network, f"{folder}/model.onnx")
    ...     assert_valid_export(network, f"{folder}/model.onnx", (-1, 1))
    """
    __tracebackhide__ = True
    from tutelage.functions import check_export

    found = check_export(module, exported, domain, data, tolerance=tolerance, seconds=seconds)
    if found.verdict != "passes":
        what = f"the export is not proved to stay within {tolerance:g} of the original"
        _fail(module, exported, found.closeness, what, "a larger tolerance may pass", found.worst_input)


def _fail(a: object, b: object, found: Answer, what: str, help_: str, worst: Tensor | None = None) -> None:
    """Raise with everything that helps to find out why."""
    __tracebackhide__ = True
    worst = found.witness if worst is None else worst
    lines = [f"{what} on {found.domain}", f"  verdict: {found.verdict}: {found.reason}"]
    if worst is not None:
        lines.append(f"  worst input: {_told(worst.tolist())}")
        lines += _at(a, b, worst)
    lines.append(f"  largest difference found: {found.difference:.6g}")
    if found.bound is not None:
        lines.append(f"  proved: no difference above {found.bound:.6g}")
    late = "; the time was short: a larger seconds may decide it" if found.verdict == "not decided" else ""
    lines.append(f"  what to do: look at the worst input and the layer that parts; {help_}{late}")
    raise AssertionError("\n".join(lines))


def _at(a: object, b: object, worst: Tensor) -> list[str]:
    """Both outputs at an input, and the first layer that parts there."""
    from tutelage.functions.checks import in_double
    from tutelage.functions.comparing.exports import parting_layer
    from tutelage.functions.rounding import values
    from tutelage.networks import Network
    from tutelage.networks.adapting import adapted

    pair = adapted(a, "first network"), adapted(b, "second network")
    lines = [
        f"  outputs of the {name}: {_told(values(network, worst[None].double())[0].tolist())}"
        for name, network in zip(("first", "second"), pair, strict=True)
    ]
    first, second = pair
    if isinstance(first, Network) and isinstance(second, Network):
        layer = parting_layer(in_double(first), in_double(second), worst.double(), 1e-9)
        if layer is not None:
            lines.append(f"  first layer that parts: {layer} of {first.depth}")
    return lines


def _told(numbers: list[float]) -> str:
    return ", ".join(f"{v:.6g}" for v in numbers[:_SHOWN]) + (" ..." if len(numbers) > _SHOWN else "")
