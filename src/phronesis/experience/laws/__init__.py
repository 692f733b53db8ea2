"""Pure laws of experience: similarity, clustering, principles, ranking and recommendations."""
