"""What a search knows of one place that says the same in every scope."""

from phronesis.core.fusion.relevance import COVERED, MENTIONED, OUTLYING, TIMED
from phronesis.core.scoring.signals import Signals


def signals_at(signals: Signals, place: int) -> dict[str, float]:
    """Give the signals of a place by name, without those that say nothing there."""
    covered = float(signals.coverage[place]) * signals.known
    if signals.further is not None:
        covered = max(covered, float(signals.further.covered[place]))
    out = {COVERED: covered}
    lane = signals.lane
    if signals.dense is not None and lane.embedded is not None and lane.embedded[place]:
        out[OUTLYING] = float(signals.dense[place])
    times = [one[place] for one in (signals.within, signals.happened) if one is not None]
    if times:
        out[TIMED] = float(max(times))
    if lane.mention is not None:
        out[MENTIONED] = float(lane.mention[place])
    return {name: round(value, 6) for name, value in out.items() if value}
