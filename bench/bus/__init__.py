"""The bus measured: `python -m bench bus [frames exchange transport simulated hostile pair namespaces]`."""
