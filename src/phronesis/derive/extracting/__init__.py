"""Finding what messages say: the types of memory, tables of patterns, the gate, and the rules that join them."""
