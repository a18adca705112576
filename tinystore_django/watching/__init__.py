"""Following jobs as they change: one thread looks for all who watch in this process."""
