"""Pure laws of reasoning: the block format, FACTS, tests of claims, and how verdicts become a status."""
