"""The local AWS: an emulator in processes of this machine, and the stack deployed into it."""
