"""The pure heart, the live executions, ownership and recovery."""
