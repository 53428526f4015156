"""The spec compiler, the command line, the demo and the benchmarks."""
