"""Pure functions of the experience engine: similarity, clustering, principles, ranking and recommendations."""
