"""One module for each durable transition: a command, the transaction it is, and how it is read back."""
