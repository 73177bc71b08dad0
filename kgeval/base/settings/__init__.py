"""Settings: pydantic models of configurations, and kgeval's messages for their validation errors."""
