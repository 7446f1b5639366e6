"""``python -m ckm`` is the command ``ckm``."""

from ckm.cli import main

if __name__ == "__main__":
    main()
