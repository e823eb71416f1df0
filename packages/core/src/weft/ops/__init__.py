"""The ops of core, one file for each family."""
