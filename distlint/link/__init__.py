"""Facts of single files put together: names, values, calls, options, launches, runs."""
