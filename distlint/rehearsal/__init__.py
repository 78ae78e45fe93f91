"""Walks through a program as one of its processes would, with known values where they can be known.

``player`` follows statements, ``expressions`` and ``calls`` work out values, ``stage`` holds what a process knows of itself, and
``performance`` has what each of some processes of a script does. What library functions do is said by the modules that
framework descriptions name (``FrameworkSpec.rehearsed``).
"""
