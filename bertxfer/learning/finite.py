"""Whether tensors hold finite numbers, and the refusal of weights that do not."""

import math

from torch import Tensor

from bertxfer.errors import TrialError


def is_finite(tensor: Tensor) -> bool:
    """The extremes are NaN if any value is; unlike isfinite they take no memory."""
    return all(map(math.isfinite, tensor.aminmax()))


def refuse_non_finite(tensors: dict[str, Tensor]) -> None:
    """The last step can ruin weights after the last loss was seen, and rows that no dev text uses hide it."""
    bad = [name for name, tensor in sorted(tensors.items()) if not is_finite(tensor)]
    if bad:
        others = f" and {len(bad) - 1} other tensors" if len(bad) > 1 else ""
        raise TrialError(
            f"the weights are not finite numbers after the last step: {bad[0]}{others}; a lower optimizer.lr may help"
        )
