"""Run `python -m benchmarks.gpu` on a machine without internet, where only PyTorch and common packages are installed.

    python -m benchmarks.gpu.offline --prepare 3.12    # before, on a machine with internet
    python3 -m benchmarks.gpu.offline                  # there, in the project's folder

The first command fetches what is missing there into results/gpu/offline: packages, as wheels for that version of Python
on this kind of machine, and the text of Multi30k. Copy this folder along with the project. The second command unpacks
the wheels into a temporary folder. Besides the results it writes log.txt and compiled.tar.xz, with all compiled code.
Put that file into results/gpu/offline, and the next call on a GPU of the same kind compiles less.

Options that are not listed here are given to `python -m benchmarks.gpu`.
"""

import argparse
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

ROOT = Path(__file__).parents[2]
OFFLINE = ROOT / "results/gpu/offline"
# Packages of requirements.txt that a machine with PyTorch may lack. `python -m benchmarks.gpu` imports no other such.
WHEELS = ("annotated-types", "pydantic", "pydantic-core", "sacremoses", "typing-extensions", "typing-inspection")
# The paths of compiled code are part of it, so they are the same in each call.
COMPILED = Path(gettempdir(), f"transformer-{os.getuid()}-compiled")
PACKED = "compiled.tar.xz"
TEXTS = {".llir", ".ptx", ".source", ".ttgir", ".ttir"}  # of Triton; only its .cubin and .json are read again
MOST = 15 * 10**6  # bytes of an archive; a last file may exceed this a little
RESERVE = 20.0  # seconds for packing it


def prepare(python: str) -> int:
    """Fetch wheels for a version of Python, and the text of Multi30k. Returns 1 if one of them is missing."""
    wheels = OFFLINE / "wheels" / python
    shutil.rmtree(wheels, ignore_errors=True)
    pins = re.findall(rf"^(?:{'|'.join(WHEELS)})==.*$", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps"]
    pip += ["--only-binary=:all:", "--python-version", python, "--dest", str(wheels), *pins]
    missing = [] if subprocess.run(pip).returncode == 0 else ["the wheels"]
    missing += [] if text() else ["the text of Multi30k"]
    size = sum(path.stat().st_size for path in OFFLINE.rglob("*") if path.is_file())
    print(f"{OFFLINE}: {size / 1e6:.1f} MB" + "".join(f"; {each} could not be fetched" for each in missing))
    return bool(missing)


def text() -> bool:
    """Fetch the files of Multi30k, from results/downloads or TRANSFORMER_MIRROR if they are there."""
    # These need the project's packages, which are missing where this file only runs the benchmark.
    from benchmarks.gpu.multi30k import OWN, at_hand
    from transformer.corpora.fetch import download, local_path
    from transformer.experiment.config import read_experiment
    from transformer.support.files import InputError

    experiment = read_experiment([OWN])
    for url in experiment.files_of("ende"):
        its = experiment.downloads[url]
        try:
            download(url, OFFLINE / "mirror" / local_path(url), its.bytes, its.sha256, at_hand(experiment))
        except InputError as error:
            print(error, file=sys.stderr)
            return False
    return True


def run(output: Path, seconds: float, options: Sequence[str]) -> int:
    """Run the benchmark with what was prepared, for at most `seconds`. Returns its exit status."""
    end = (began := time.time()) + seconds
    output.mkdir(parents=True, exist_ok=True)
    COMPILED.mkdir(mode=0o700, exist_ok=True)
    if COMPILED.lstat().st_uid != os.getuid():  # PyTorch would run the code in it
        sys.exit(f"error: {COMPILED} is another user's; set TMPDIR to another folder")
    unpack(OFFLINE / PACKED)
    with TemporaryDirectory() as site:
        wheels = OFFLINE / "wheels/{}.{}".format(*sys.version_info)
        if not wheels.exists():
            print(f"{wheels}: not found, so packages that are missing here stay missing", file=sys.stderr)
        for wheel in wheels.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(site)  # all that pip does with these, which have no scripts or data
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, (site, str(ROOT), os.environ.get("PYTHONPATH")))),
            "PYTHONUNBUFFERED": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(COMPILED),
            "TRITON_CACHE_DIR": str(COMPILED / "triton"),
            "TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE": "0",  # it would store each kernel twice, with its texts
            "TRITON_DISABLE_LINE_INFO": "1",  # kernels are smaller
        }
        if (OFFLINE / "mirror").exists():
            environment["TRANSFORMER_MIRROR"] = str(OFFLINE / "mirror")
        left = max(1.0, end - RESERVE - time.time())
        command = ["timeout", "--foreground", "--kill-after=5", str(left + RESERVE / 4)]  # it should end by itself
        command += [sys.executable, "-m", "benchmarks.gpu", "--output-dir", str(output), "--seconds", str(left)]
        tee = subprocess.Popen(["tee", str(output / "log.txt")], stdin=subprocess.PIPE)
        log = {"stdout": tee.stdin, "stderr": subprocess.STDOUT}
        status = subprocess.run([*command, *options], cwd=ROOT, env=environment, **log).returncode
        tee.communicate()
    pack(output / PACKED, began, end)
    return status


def unpack(path: Path) -> None:
    """Unpack compiled code of an earlier call, if there is any."""
    try:
        with tarfile.open(path) as archive:
            for each in archive:
                if not each.isfile() or Path(each.name).is_absolute() or ".." in Path(each.name).parts:
                    raise tarfile.ExtractError(f"{each.name} is no file inside the archive's folder")
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python has it from 3.11.4 on
            archive.extractall(COMPILED)
    except FileNotFoundError:
        return
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
        print(f"{path}: {error}; everything is compiled anew", file=sys.stderr)


def pack(path: Path, began: float, end: float) -> None:
    """Write compiled code to an archive of at most MOST bytes, until time.time() is `end`.

    What was compiled since `began` comes first, in its order, so the code of the most important parts comes first.
    """
    files = [
        (file.stat().st_mtime, file) for file in COMPILED.rglob("*") if file.is_file() and file.suffix not in TEXTS
    ]
    if not files:
        return
    files.sort(key=lambda each: (each[0] < began, each[0]))
    part, kept = path.with_name(f"{path.name}.part"), 0
    # With 64 MiB in view, the compressor finds what kernels have in common.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 2**26}]
    with (
        part.open("wb") as packed,
        lzma.open(packed, "wb", filters=filters) as stream,
        tarfile.open(fileobj=stream, mode="w") as archive,
    ):
        for _, file in files:
            if packed.tell() >= MOST or time.time() >= end:
                print(f"{path}: {kept} of {len(files)} files of compiled code; there is no room or time for more")
                break
            archive.add(file, str(file.relative_to(COMPILED)))
            kept += 1
    part.replace(path)


def main() -> int:
    """Prepare, or run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.offline",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--prepare", metavar="PYTHON", help="fetch what a machine with this version of Python, such as 3.12, may lack"
    )
    parser.add_argument("--output-dir", type=Path, default=ROOT / "results/gpu", help="default: results/gpu")
    parser.add_argument("--seconds", type=float, default=600.0, help="the most seconds of all; default: 600")
    arguments, options = parser.parse_known_args()
    if arguments.prepare:
        return prepare(arguments.prepare)
    return run(arguments.output_dir.absolute(), arguments.seconds, options)


if __name__ == "__main__":
    sys.exit(main())
