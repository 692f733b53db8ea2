"""A network that tags the words of a message with what they tell: a second opinion beside the rules.

``tokens`` parts a message, ``network`` gives the chances of each tag, ``decoding`` the values that are tagged, and
``opinion`` takes both together. The weights are fitted by ``phronesis bench tagger`` (`phronesis.evals.tagging`).
"""
