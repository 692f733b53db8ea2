"""How often something worked, and how sure that is."""

from math import sqrt
from typing import Any, Final

Z: Final = 1.959964
"""The normal quantile of a two-sided 95 % interval."""

DIGITS: Final = 4


def success_rate(successes: int, trials: int) -> dict[str, Any]:
    """Give ``rate``, ``low``, ``high`` (Wilson 1927, 95 %), ``successes`` and ``trials``; rate None without a trial."""
    if trials == 0:
        return {"rate": None, "low": 0.0, "high": 1.0, "successes": 0, "trials": 0}
    share = successes / trials
    centre = share + Z * Z / (2 * trials)
    spread = Z * sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials))
    scale = 1 + Z * Z / trials
    low, high = max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
    return {
        "rate": round(share, DIGITS), "low": round(low, DIGITS), "high": round(high, DIGITS), "successes": successes,
        "trials": trials,
    }  # fmt: skip
