"""Learning from a run: FACTS, candidates, proposals through the gate, a verdict on every claim, all in one entry."""
