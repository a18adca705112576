"""An app of 200 schedules, apart from the other tests' project: a worker of that one is not to run them."""
