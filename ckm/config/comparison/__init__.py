"""What a comparison is about: methods, designs and their settings."""
