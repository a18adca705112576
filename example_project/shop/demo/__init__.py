"""The demo's parts: where it runs, the programs it starts, how it looks at them, and its story."""
