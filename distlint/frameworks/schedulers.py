"""What starts any command on several machines (Slurm's ``srun``, MPI's ``mpirun``), and the plain interpreter."""

from __future__ import annotations

from distlint.model.framework import FrameworkSpec, LauncherSpec, OptionSpec

_SRUN_SWITCHES = ["label", "unbuffered", "verbose", "exclusive", "overlap", "quiet", "pty", "overcommit", "multi-prog", "immediate", "oversubscribe", "exact", "no-kill", "spread-job", "whole", "preserve-env", "contiguous", "reboot", "use-min-nodes", "test-only", "kill-on-invalid-dep", "container-mount-home", "no-container-mount-home", "container-remap-root", "no-container-remap-root", "container-writable", "container-readonly", "no-container-entrypoint", "container-entrypoint", "disable-status", "help", "version"]

_SRUN_VALUED = ["account", "accel-bind", "acctg-freq", "array", "bb", "bcast", "begin", "chdir", "cluster-constraint", "clusters", "comment", "compress", "constraint", "container", "core-spec", "cores-per-socket", "cpu-bind", "cpu-freq", "cpus-per-gpu", "dependency", "deadline", "delay-boot", "distribution", "epilog", "error", "exclude", "export", "export-file", "extra-node-info", "gpu-bind", "gpu-freq", "gpus-per-socket", "gpus-per-task", "gres-flags", "hint", "input", "jobid", "job-name", "kill-on-bad-exit", "licenses", "mail-type", "mail-user", "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "mpi", "msg-timeout", "network", "nice", "nodefile", "nodelist", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-socket", "open-mode", "output", "partition", "power", "priority", "prolog", "propagate", "qos", "relative", "reservation", "resv-ports", "slurmd-debug", "sockets-per-node", "switches", "task-epilog", "task-prolog", "thread-spec", "threads", "threads-per-core", "time", "time-min", "tmp", "tres-per-task", "tree-width", "uid", "gid", "unequal", "wait", "wckey", "container-image", "container-mounts", "container-name", "container-workdir", "container-save", "container-env", "het-group", "cpus-per-task"]

_SRUN_LETTERS = {
    "label": "-l",
    "unbuffered": "-u",
    "verbose": "-v",
    "quiet": "-Q",
    "overcommit": "-O",
    "oversubscribe": "-s",
    "immediate": "-I",
    "no-kill": "-k",
    "disable-status": "-X",
    "version": "-V",
    "preserve-env": "-E",
    "help": "-h",
    "test-only": "-Z",
    "account": "-A",
    "chdir": "-D",
    "clusters": "-M",
    "constraint": "-C",
    "cpus-per-task": "-c",
    "dependency": "-d",
    "distribution": "-m",
    "error": "-e",
    "exclude": "-x",
    "extra-node-info": "-B",
    "input": "-i",
    "job-name": "-J",
    "kill-on-bad-exit": "-K",
    "licenses": "-L",
    "nodelist": "-w",
    "output": "-o",
    "partition": "-p",
    "priority": "-P",
    "qos": "-q",
    "relative": "-r",
    "time": "-t",
    "threads": "-T",
    "wait": "-W",
    "core-spec": "-S",
}

# ``--jobid`` and ``-K`` may stand without a value; with ``=`` they have one.
_SRUN_OPTIONAL = {
    "kill-on-bad-exit": "=",
    "immediate": "=",
    "exclusive": "=",
    "oversubscribe": "=",
    "nice": "=",
    "propagate": "=",
}


def _srun(name: str, arity: int | str) -> OptionSpec:
    flags = (f"--{name}", _SRUN_LETTERS[name]) if name in _SRUN_LETTERS else (f"--{name}",)
    return OptionSpec(name, flags, _SRUN_OPTIONAL.get(name, arity))


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
        *(_srun(name, 0) for name in _SRUN_SWITCHES),
        *(_srun(name, 1) for name in _SRUN_VALUED),
    ),
    provides=frozenset(
        {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_TASK_PID"}
    ),
    prefix=True,
    default_nodes=None,
    default_processes=None,
    total_processes=True,
    counting="tasks",
    inherits=(
        ("nodes", "SLURM_NNODES"),
        ("processes", "SLURM_NTASKS"),
        ("processes-per-node", "SLURM_NTASKS_PER_NODE"),
    ),
)

_MPI_SWITCHES = ["--bind-to-core", "--bind-to-socket", "--bynode", "--byslot", "--oversubscribe", "--nooversubscribe", "--allow-run-as-root", "--report-bindings", "--tag-output", "--display-map", "--display-allocation", "--do-not-launch", "--enable-recovery", "--noprefix", "--quiet", "-q", "--verbose", "-v", "-h", "--help", "-V", "--version", "--use-hwthread-cpus", "--get-stack-traces", "--novm", "-launch-agent", "--timestamp-output", "--xterm", "--debug", "--tv", "-l", "-prepend-rank"]

_MPI_VALUED = ["--bind-to", "--map-by", "--rank-by", "--prefix", "--path", "--wdir", "-wdir", "--wd", "-wd", "--output-filename", "--timeout", "--rankfile", "-rf", "--app", "--tmpdir", "--stdin", "--cpus-per-proc", "--cpu-set", "-iface", "-bootstrap", "-rmk", "-launcher", "-genvlist", "-envlist", "-ppr", "--preload-files", "--am", "--tune", "-cpus-per-proc", "--personality", "--slot-list", "-configfile"]

_MPI_TWO = ["--mca", "-mca", "--gmca", "-gmca", "--omca", "--prtemca", "--pmixmca", "-env", "-genv", "--env", "--genv"]

MPIRUN = LauncherSpec(
    name="mpirun",
    commands=(("mpirun",), ("mpiexec",), ("mpirun_rsh",), ("mpiexec.hydra",), ("orterun",)),
    options=(
        OptionSpec("processes", ("-n", "-np", "--np", "--n", "-c")),
        OptionSpec("processes-per-node", ("-npernode", "--npernode", "-N", "-ppn", "--ppn", "-perhost", "--perhost")),
        OptionSpec("hosts", ("-H", "-host", "--host", "-hosts", "--hosts")),
        OptionSpec("hostfile", ("-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f")),
        OptionSpec("environment", ("-x",)),
        *(OptionSpec(flag.lstrip("-"), (flag,), 0) for flag in _MPI_SWITCHES),
        *(OptionSpec(flag.lstrip("-"), (flag,)) for flag in _MPI_VALUED),
        *(OptionSpec(flag.lstrip("-"), (flag,), 2) for flag in _MPI_TWO),
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
)

PYTHON = LauncherSpec(
    name="python",
    commands=(("python",),),
    options=(
        *(
            OptionSpec(flag[1:], (flag,), 0)
            for flag in ["-b", "-bb", "-B", "-d", "-E", "-h", "-i", "-I", "-O", "-OO", "-P", "-q", "-s", "-S", "-u", "-v", "-vv", "-V", "-x"]
        ),
        OptionSpec("warnings", ("-W",)),
        OptionSpec("implementation", ("-X",)),
        OptionSpec("command", ("-c",)),
        OptionSpec("module", ("-m",)),
    ),
    abbreviations=False,
)

LAUNCHERS = (SRUN, MPIRUN, PYTHON)

SPEC = FrameworkSpec(
    name="schedulers",
    prefix="",
    packages=(),
    modules=(),
    literals=(b"srun", b"mpirun", b"mpiexec", b".add_argument("),
    launchers=LAUNCHERS,
    rank_sources=(
        ("$SLURM_PROCID", "rank"),
        ("$SLURM_LOCALID", "local-rank"),
        ("$SLURM_NTASKS", "world"),
        ("$OMPI_COMM_WORLD_RANK", "rank"),
        ("$OMPI_COMM_WORLD_LOCAL_RANK", "local-rank"),
        ("$OMPI_COMM_WORLD_SIZE", "world"),
    ),
)
