"""Definitions, tools, context assembly, and the two live contexts that implement the generated guards and actions."""
