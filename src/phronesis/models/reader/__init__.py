"""The reader: a transformer and heads that find values and speech acts in texts (English, Chinese).

Its weights are fitted by ``phronesis bench reader``; a new head goes into ``network``, its loss into the benchmark.
"""
