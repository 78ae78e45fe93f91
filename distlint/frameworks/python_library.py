"""What Python's own library and a few common ones tell a process of itself: clocks, names, random numbers, plain functions."""

from __future__ import annotations

from distlint.model.framework import DRAWN, FrameworkSpec

_CLOCK = "the clock of each process"
_HOST = "the process and machine that it runs on"

SPEC = FrameworkSpec(
    name="python",
    prefix="",
    packages=(),
    modules=(),
    literals=(),
    varying=(
        *(
            (f"time.{name}", _CLOCK)
            for name in (
                "time",
                "time_ns",
                "monotonic",
                "monotonic_ns",
                "perf_counter",
                "perf_counter_ns",
                "process_time",
                "process_time_ns",
                "thread_time",
                "localtime",
                "gmtime",
                "ctime",
                "strftime",
            )
        ),
        ("timeit.default_timer", _CLOCK),
        *((f"datetime.{name}", _CLOCK) for name in ("datetime.now", "datetime.utcnow", "datetime.today", "date.today")),
        *((f"os.{name}", _HOST) for name in ("getpid", "uname", "getloadavg", "times")),
        *((f"socket.{name}", _HOST) for name in ("gethostname", "getfqdn")),
        ("platform.node", _HOST),
        ("threading.get_ident", _HOST),
        ("multiprocessing.current_process", _HOST),
        *((f"uuid.{name}", DRAWN) for name in ("uuid1", "uuid4")),
        *((f"secrets.{name}", DRAWN) for name in ("randbelow", "choice", "token_hex", "token_bytes", "randbits")),
        ("os.urandom", DRAWN),
        *((f"random.SystemRandom().{name}", DRAWN) for name in ("random", "randint", "choice")),
        *((f"tempfile.{name}", DRAWN) for name in ("mkdtemp", "mktemp", "mkstemp")),
        *(
            (f"psutil.{name}", _HOST)
            for name in (
                "virtual_memory",
                "cpu_percent",
                "swap_memory",
                "Process().memory_info",
                "Process().memory_percent",
            )
        ),
        ("resource.getrusage", _HOST),
        *(
            (f"{module}.Queue().{name}", "what each process's own queue holds")
            for module in ("queue", "multiprocessing", "torch.multiprocessing")
            for name in ("empty", "qsize", "get_nowait")
        ),
    ),
    plain=(
        "math.",
        "statistics.",
        "operator.",
        "os.path.join",
        "os.path.exists",
        "os.path.isfile",
        "os.path.isdir",
        "os.path.basename",
        "os.path.getsize",
        "pathlib.",
        "copy.",
        "itertools.",
        "functools.reduce",
        "collections.",
        "numpy.isnan",
        "numpy.isfinite",
        "numpy.isinf",
        "numpy.mean",
        "numpy.median",
        "numpy.sum",
        "numpy.max",
        "numpy.min",
        "numpy.array",
        "numpy.abs",
        "numpy.any",
        "numpy.all",
        "numpy.std",
        "numpy.asarray",
        "numpy.arange",
        "datetime.timedelta",
        "json.loads",
        "json.dumps",
        "tqdm.",
    ),
)
