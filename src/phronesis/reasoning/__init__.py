"""The reasoning bank: claims derived from runs, and the verdicts that later runs give on them."""
