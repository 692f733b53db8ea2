"""What a question asks for by its kind: the key under which memories hold the answer, and of whom."""
