"""The reasoning bank: claims that runs confirm or refute."""
