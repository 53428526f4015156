"""`pawl demo`: a refund that must happen once, in three processes, two of which are killed."""
