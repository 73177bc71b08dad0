"""Drawing entities by key: the same draw for a query whatever the order, the batch or the shard."""
