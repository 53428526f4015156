"""What applications hold: `Runtime`, `AgentHandle`, `Execution`, and their blocking twins."""
