"""The single writer's tools: inbox, environment port, offload pool."""
