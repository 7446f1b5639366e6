"""``python -m ckm_engine`` is the command ``ckm``."""

from ckm_engine import main

if __name__ == "__main__":
    main()
