"""Neural-network modules."""
