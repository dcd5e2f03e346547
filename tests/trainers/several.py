# SPDX-License-Identifier: Apache-2.0
"""several.py: cases of several scripts in one process, each named SCRIPT.CASE, so that libraries which
take seconds to load are loaded once."""
import importlib
import sys

import trial

if __name__ == "__main__":
    names = [name.split(".") for name in sys.argv[3:]]
    del sys.argv[3:]
    trial.main(*[getattr(importlib.import_module(script), case) for script, case in names])
