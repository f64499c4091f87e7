"""What the commands of all packages share: options, output, errors, the settings of a command."""
