"""The generic table engine: machines as data, a pure `advance`, and sessions; it knows nothing of agents."""
