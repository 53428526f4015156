"""Three host applications, each in one file: a web service, a plain script, a worker process."""
