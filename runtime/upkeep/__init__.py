"""Looking a store over, clearing it out, and carrying an execution to another one."""
