"""What every command needs: options, output, progress, and times as people read them."""
