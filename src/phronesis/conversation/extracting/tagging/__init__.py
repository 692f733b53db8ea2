"""A network that tags the words of a message; it refuses proposals of the rules that it finds unlikely."""
