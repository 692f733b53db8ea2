"""tmp"""

from dataclasses import dataclass


@dataclass
class D:
    label: str
    signals: tuple
    confidence: float


def decide(label, observations, hints):
    return D(label, ("given",) if label != "unknown" else (), 1.0 if label != "unknown" else 0.5)
