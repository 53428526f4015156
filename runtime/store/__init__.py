"""The port to durable storage, its five answers, and the adapters; nothing here knows of live objects."""
