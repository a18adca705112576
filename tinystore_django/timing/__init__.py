"""When things run: the clock, spans, instants, rates and repeats, in microseconds since 1970."""
