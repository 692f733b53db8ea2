"""The laws of experience: events, patterns and principles; how alike they are, how they are grouped and ranked."""
