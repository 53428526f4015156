"""What `pawl.testing` gives: a world for tests of agents, and its pytest fixture."""
