"""What starts any command on several machines (Slurm's ``srun``, MPI's ``mpirun``), and the plain interpreter.

The options of ``srun`` and how many words each takes were asked of the program itself (22.05); those of ``mpirun`` are
in the manual of Open MPI (4.1, with what 5 adds) and in the help of MPICH's Hydra (4.0).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.model.framework import FrameworkSpec, LauncherSpec, OptionSpec

_SRUN_SWITCHES = (
    "contiguous", "disable-status", "exact", "help", "hold", "label", "multi-prog", "no-allocate", "overcommit",
    "oversubscribe", "preserve-env", "pty", "quiet", "quit-on-interrupt", "reboot", "spread-job", "test-only",
    "unbuffered", "usage", "use-min-nodes", "verbose", "version", "whole",
)  # fmt: skip

_SRUN_VALUED = (
    "accel-bind", "account", "acctg-freq", "bb", "bbf", "bcast-exclude", "begin", "chdir", "cluster-constraint",
    "clusters", "comment", "constraint", "container", "core-spec", "cores-per-socket", "cpu-bind", "cpu-freq",
    "cpus-per-gpu", "cpus-per-task", "deadline", "delay-boot", "dependency", "distribution", "epilog", "error",
    "exclude", "export", "extra-node-info", "gid", "gpu-bind", "gpu-freq", "gpus-per-socket", "gpus-per-task",
    "gres-flags", "het-group", "hint", "input", "job-name", "jobid", "licenses", "mail-type", "mail-user",
    "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "mpi", "msg-timeout", "network",
    "nodefile", "nodelist", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-socket", "open-mode", "output",
    "partition", "power", "prefer", "priority", "profile", "prolog", "qos", "relative", "reservation", "signal",
    "slurmd-debug", "sockets-per-node", "switches", "task-epilog", "task-prolog", "thread-spec", "threads",
    "threads-per-core", "time", "time-min", "tmp", "tres-bind", "tres-per-task", "uid", "wait", "wckey",
)  # fmt: skip

# With ``=`` they have a value, and none without.
_SRUN_OPTIONAL = (
    "bcast", "compress", "exclusive", "immediate", "kill-on-bad-exit", "nice", "no-kill", "overlap", "propagate",
    "resv-ports", "send-libs", "x11",
)  # fmt: skip

# What the container plugin pyxis adds.
_PYXIS_SWITCHES = (
    "container-entrypoint", "container-mount-home", "container-readonly", "container-remap-root",
    "container-writable", "no-container-entrypoint", "no-container-mount-home", "no-container-remap-root",
)  # fmt: skip

_PYXIS_VALUED = (
    "container-env", "container-image", "container-mounts", "container-name", "container-save", "container-workdir",
)  # fmt: skip

_SRUN_LETTERS = {
    "account": "-A", "begin": "-b", "chdir": "-D", "clusters": "-M", "constraint": "-C", "core-spec": "-S",
    "cpus-per-task": "-c", "dependency": "-d", "disable-status": "-X", "distribution": "-m", "error": "-e",
    "exclude": "-x", "extra-node-info": "-B", "help": "-h", "hold": "-H", "immediate": "-I", "input": "-i",
    "job-name": "-J", "kill-on-bad-exit": "-K", "label": "-l", "licenses": "-L", "no-allocate": "-Z",
    "no-kill": "-k", "nodefile": "-F", "nodelist": "-w", "output": "-o", "overcommit": "-O", "oversubscribe": "-s",
    "partition": "-p", "preserve-env": "-E", "qos": "-q", "quiet": "-Q", "relative": "-r", "threads": "-T",
    "time": "-t", "unbuffered": "-u", "verbose": "-v", "version": "-V", "wait": "-W",
}  # fmt: skip


def _srun(names: tuple[str, ...], arity: int | str) -> Iterator[OptionSpec]:
    for name in names:
        flags = (f"--{name}", _SRUN_LETTERS[name]) if name in _SRUN_LETTERS else (f"--{name}",)
        yield OptionSpec(name, flags, arity)


SRUN = LauncherSpec(
    name="srun",
    commands=(("srun",),),
    options=(
        OptionSpec("nodes", ("-N", "--nodes")),
        OptionSpec("processes", ("-n", "--ntasks")),
        OptionSpec("processes-per-node", ("--ntasks-per-node", "--tasks-per-node")),
        OptionSpec("gpus-per-node", ("--gpus-per-node",)),
        OptionSpec("gpus", ("-G", "--gpus")),
        OptionSpec("gres", ("--gres",)),
        *_srun((*_SRUN_SWITCHES, *_PYXIS_SWITCHES), 0),
        *_srun((*_SRUN_VALUED, *_PYXIS_VALUED), 1),
        *_srun(_SRUN_OPTIONAL, "="),
    ),
    provides=frozenset(
        {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_TASK_PID"}
    ),
    prefix=True,
    default_nodes=None,
    default_processes=1,
    total_processes=True,
    counting="tasks",
    inherits=(
        ("nodes", "SLURM_NNODES"),
        ("processes", "SLURM_NTASKS"),
        ("processes-per-node", "SLURM_NTASKS_PER_NODE"),
    ),
)

# Open MPI takes most of its options with one dash and with two; Hydra (MPICH, Intel MPI) with one.
_MPI_SWITCHES = (
    "V", "allow-run-as-root", "bind-to-core", "bind-to-socket", "bycore", "bynode", "byslot", "bysocket",
    "continuous", "d", "debug", "debug-daemons", "debug-daemons-file", "debug-devel", "disable-auto-cleanup",
    "disable-hostname-propagation", "disable-recovery", "disable-x", "display-allocation",
    "display-devel-allocation", "display-devel-map", "display-diffable-map", "display-map", "display-topo",
    "do-not-launch", "do-not-resolve", "dvm", "enable-recovery", "enable-x", "envall", "envnone", "genvall",
    "genvnone", "get-stack-traces", "h", "help", "index-argv-by-rank", "info", "l", "leave-session-attached",
    "merge-stderr-to-stdout", "nolocal", "nooversubscribe", "noprefix", "novm", "output-proctable", "oversubscribe",
    "pernode", "pmi-port", "preload-binary", "prepend-rank", "print-all-exitcodes", "profile", "q", "quiet",
    "report-bindings", "report-child-jobs-separately", "report-state-on-timeout", "s", "set-cwd-to-session-dir",
    "show-progress", "skip-launch-node", "tag-output", "terminate", "timestamp-output", "tv", "use-hwthread-cpus",
    "use-regexp", "v", "verbose", "version", "xml",
)  # fmt: skip

_MPI_VALUED = (
    "am", "app", "bind-to", "bootstrap", "cartofile", "cf", "configfile", "cpu-list", "cpu-set", "cpus-per-proc",
    "cpus-per-rank", "debugger", "default-hostfile", "demux", "display", "envlist", "errfile-pattern", "genvlist",
    "gpus-per-proc", "hnp", "iface", "launch-agent", "launcher", "launcher-exec", "localhost", "map-by",
    "max-restarts", "max-vm-size", "membind", "nameserver", "npersocket", "ompi-server", "order-nodes",
    "outfile-pattern", "output", "output-filename", "path", "personality", "ppr", "prefix", "preload-files",
    "prepend-pattern", "rank-by", "rankfile", "report-events", "report-pid", "report-uri", "rf", "rmk",
    "runtime-options", "slot-list", "stdin", "timeout", "tmpdir", "topolib", "tune", "usize", "wd", "wdir",
    "xml-file", "xterm",
)  # fmt: skip

_MPI_TWO = (
    "env", "genv", "gmca", "mca", "omca", "pmixmca", "prtemca",
)  # fmt: skip


def _mpi(names: tuple[str, ...], arity: int) -> Iterator[OptionSpec]:
    for name in names:
        yield OptionSpec(name, (f"-{name}", f"--{name}") if len(name) > 1 else (f"-{name}",), arity)


MPIRUN = LauncherSpec(
    name="mpirun",
    commands=(("mpirun",), ("mpiexec",), ("mpirun_rsh",), ("mpiexec.hydra",), ("orterun",)),
    options=(
        OptionSpec("processes", ("-n", "-np", "--np", "--n", "-c")),
        OptionSpec("processes-per-node", ("-npernode", "--npernode", "-N", "-ppn", "--ppn", "-perhost", "--perhost")),
        OptionSpec("hosts", ("-H", "-host", "--host", "-hosts", "--hosts")),
        OptionSpec("hostfile", ("-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f")),
        OptionSpec("environment", ("-x",)),
        *_mpi(_MPI_SWITCHES, 0),
        *_mpi(_MPI_VALUED, 1),
        *_mpi(_MPI_TWO, 2),
    ),
    provides=frozenset(
        {
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK",
            "OMPI_COMM_WORLD_LOCAL_SIZE",
            "PMI_RANK",
            "PMI_SIZE",
            "MPI_LOCALRANKID",
            "MV2_COMM_WORLD_RANK",
        }
    ),
    abbreviations=False,
    prefix=True,
    default_nodes=None,
    default_processes=None,
    total_processes=True,
    counting="tasks",
    inherits=(
        ("processes", "PBS_NP"),
        ("processes", "LSB_DJOB_NUMPROC"),
        ("processes", "SLURM_NTASKS"),
        ("processes-per-node", "SLURM_NTASKS_PER_NODE"),
        ("processes-per-node", "MPIJOB_SLOTS"),
        ("nodes", "MPIJOB_WORKERS"),
        ("nodes", "PBS_NUM_NODES"),
        ("nodes", "SLURM_NNODES"),
    ),
)

# What Kubeflow's operators give to the pods of a job (``pkg/controller.v1/pytorch/envvar.go`` of training-operator 1.9).
TRAINING_JOBS = tuple(
    LauncherSpec(
        name=kind,
        commands=((kind,),),
        options=(OptionSpec("nodes", ("--nodes",)), OptionSpec("processes-per-node", ("--nproc-per-node",))),
        provides=frozenset({"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"}),
        abbreviations=False,
        prefix=True,
    )
    for kind in ("PyTorchJob", "TrainJob")
)

_PYTHON_SWITCHES = (
    "-b", "-bb", "-B", "-d", "-E", "-h", "-i", "-I", "-O", "-OO", "-P", "-q", "-s", "-S", "-u", "-v", "-vv", "-V",
    "-x",
)  # fmt: skip

PYTHON = LauncherSpec(
    name="python",
    commands=(("python",),),
    options=(
        *(OptionSpec(flag[1:], (flag,), 0) for flag in _PYTHON_SWITCHES),
        OptionSpec("warnings", ("-W",)),
        OptionSpec("implementation", ("-X",)),
        OptionSpec("command", ("-c",)),
        OptionSpec("module", ("-m",)),
    ),
    abbreviations=False,
)

LAUNCHERS = (SRUN, MPIRUN, *TRAINING_JOBS, PYTHON)

SPEC = FrameworkSpec(
    name="schedulers",
    prefix="",
    packages=(),
    modules=(),
    literals=(b"srun", b"mpirun", b"mpiexec", b"sbatch", b"qsub", b".add_argument("),
    launchers=LAUNCHERS,
    rank_sources=(
        ("$SLURM_PROCID", "rank"),
        ("$SLURM_LOCALID", "local-rank"),
        ("$SLURM_NTASKS", "world"),
        ("$SLURM_NODEID", "node"),
        ("$SLURM_NNODES", "nodes"),
        ("$SLURM_JOB_NUM_NODES", "nodes"),
        ("$OMPI_COMM_WORLD_RANK", "rank"),
        ("$OMPI_COMM_WORLD_LOCAL_RANK", "local-rank"),
        ("$OMPI_COMM_WORLD_SIZE", "world"),
        ("$OMPI_COMM_WORLD_LOCAL_SIZE", "per-node"),
        ("$PMI_RANK", "rank"),
        ("$PMI_SIZE", "world"),
        ("$MPI_LOCALRANKID", "local-rank"),
        ("$MV2_COMM_WORLD_RANK", "rank"),
        ("$MV2_COMM_WORLD_LOCAL_RANK", "local-rank"),
        ("$MV2_COMM_WORLD_SIZE", "world"),
        ("$PALS_RANKID", "rank"),
        ("$PALS_LOCAL_RANKID", "local-rank"),
    ),
)
