"""What a job will look like: its layout, batch and memory, put together from what the frameworks know."""
