#!/usr/bin/env python3
"""run.py CMAKE BUILD SCRATCH COMPILER: installs BUILD below SCRATCH, builds this folder's project against it, and has
its client ask its replica through the installed broker, which runs with the installed example configuration."""
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 30  # seconds that anything may take to start or to stop
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("REDOUBT_")}


def run(*command):
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {result.returncode}\n{result.stdout}")
    return result.stdout


def event(process, name):
    """The first event of this name that the process prints."""
    until = time.monotonic() + LIMIT
    while select.select([process.stdout], [], [], max(0, until - time.monotonic()))[0]:
        line = process.stdout.readline()
        if not line:
            sys.exit(f"{process.args[0]} ended before it said '{name}'")
        said = json.loads(line)
        if said["event"] == name:
            return said
    sys.exit(f"{process.args[0]} has not said '{name}' in {LIMIT} s")


@contextlib.contextmanager
def daemon(*command):
    """Runs until the end of the block; then it must stop by itself, with exit status 0."""
    # Unbuffered, or select() would miss lines that have been read ahead.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=ENVIRONMENT, bufsize=0)
    try:
        yield process
        process.terminate()
        status = process.wait(LIMIT)
        if status != 0:
            sys.exit(f"{command[0]}: exit status {status} after SIGTERM")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()


def main(cmake, build, scratch, compiler):
    shutil.rmtree(scratch, ignore_errors=True)
    prefix, project = os.path.join(scratch, "prefix"), os.path.join(scratch, "build")
    examples = os.path.join(prefix, "share", "doc", "redoubt", "examples")
    run(cmake, "--install", build, "--prefix", prefix)
    run(cmake, "-S", HERE, "-B", project, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}")
    run(cmake, "--build", project)

    with daemon(os.path.join(prefix, "bin", "redoubt-broker"), "--config", os.path.join(examples, "broker.toml"),
                "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0") as broker:
        address = event(broker, "ready")["listen"]
        with daemon(os.path.join(project, "shouter"), "--brokers", address) as shouter, \
                daemon(os.path.join(prefix, "bin", "redoubt-replica"), "--config",
                       os.path.join(examples, "replica.toml"), "--brokers", address) as example:
            event(shouter, "ready")
            event(example, "ready")
            answer = run(os.path.join(project, "asker"), address, "who is there?")
            if answer != "WHO IS THERE?\n":
                sys.exit(f"the answer is {answer!r}")
            status = json.loads(run(os.path.join(prefix, "bin", "redoubt"), "status", "--brokers", address, "--json"))
            if sorted(service for replica in status["replicas"] for service in replica["services"]) != ["compress", "shout"]:
                sys.exit(f"the broker knows other replicas: {status['replicas']}")
    print("installed, built and asked")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
