"""The library: the table engine, durable values, stores, barriers, the loop and the public runtime."""
