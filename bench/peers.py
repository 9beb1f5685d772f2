#!/usr/bin/env python3
"""peers.py FIRST LAST [COLUMNS]: times the sums of PyTorch and Triton over 2^FIRST, ..., 2^LAST values.

Prints rows as reduce-ladder writes them with --csv. COLUMNS, with commas between them: those of a
file that the rows are for; what only the ladder knows stays empty there. Without it, a line that
names the columns comes first.

Exit status: 0; 1 a sum is wrong; 2 usage; 3 no PyTorch or no usable GPU; 4 a CUDA error.
"""
# The protocol is that of ../src/device_cuda.cpp. Every sample is taken alone: L2 is filled with
# other data that is only read, so that it is cold and has nothing to write back; a kernel holds the
# stream until the host has queued everything; then come an event, the sum, and an event.
import math
import statistics
import sys
import time

try:
    import torch
    no_torch = None
except (ImportError, OSError) as error:  # OSError: a library that it needs is missing
    no_torch = error
try:
    import triton
    import triton.language as tl
    no_triton = None
except (ImportError, OSError) as error:
    no_triton = error

LARGEST_EXPONENT = 40  # as for the ladder
SEED = 42
REPEATS = 8  # judged and compared bit by bit

# As in ../include/reduce_ladder/device.hpp. Here at least LEAST_SAMPLES are taken in any case.
WARMUPS = 3
MIN_SAMPLES = 50
LEAST_SAMPLES = 7
MAX_NOISE = 0.005
TIMEOUT_SECONDS = 0.25
LOOK_EVERY = 16

FIRST_HOLD_CYCLES = 1 << 20  # about 0.5 ms
LAST_HOLD_CYCLES = 1 << 28

# For a grid that fits on the machine at once, with enough bytes in flight.
TILE = 4096  # values
WARPS = 8
PROGRAMS_PER_MULTIPROCESSOR = 4

if not no_triton:

    # Each program walks over the tiles with the stride of the grid, and writes one sum.
    @triton.jit
    def sum_tiles(values, n, sums, TILE: tl.constexpr):
        lanes = tl.arange(0, TILE)
        begin = tl.program_id(0).to(tl.int64) * TILE  # 2^31 values and more need 64 bits
        stride = tl.num_programs(0).to(tl.int64) * TILE
        total = tl.zeros((TILE,), tl.float32)
        for first in range(begin, n, stride):
            offsets = first + lanes
            total += tl.load(values + offsets, mask=offsets < n, other=0.0)
        tl.store(sums + tl.program_id(0), tl.sum(total))


class Peer:
    """A sum that queues itself: `queue(values, output)`, and what its row says of its launch."""

    def __init__(self, name, queue, block="", grid=lambda n: ""):
        self.name, self.queue, self.block, self.grid = name, queue, block, grid


def torch_sum():
    def queue(values, output):
        torch.sum(values, dim=0, out=output)

    return Peer(f"torch.sum {torch.__version__.split('+')[0]}", queue)


def triton_two_pass(multiprocessors):
    most = PROGRAMS_PER_MULTIPROCESSOR * multiprocessors
    sums = torch.empty(most, device="cuda")

    def grid(n):
        return min(triton.cdiv(n, TILE), most)

    def queue(values, output):
        programs = grid(values.numel())
        sum_tiles[(programs,)](values, values.numel(), sums, TILE=TILE, num_warps=WARPS)
        sum_tiles[(1,)](sums, programs, output, TILE=TILE, num_warps=WARPS)

    return Peer(f"triton two-pass {triton.__version__}", queue, 32 * WARPS, grid)


class Sampler:
    def __init__(self, l2_bytes):
        self.flush = torch.zeros(max(2 * l2_bytes, 64 << 20) // 4, device="cuda")
        self.sink = torch.empty((), device="cuda")
        self.begin = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)
        self.hold_cycles = 0

    def take(self, queue):
        """Seconds that the queued work took."""
        while True:
            # By another kernel than a sum's: its instructions have to be cold as well.
            torch.amax(self.flush, dim=0, out=self.sink)
            torch.cuda._sleep(self.hold_cycles)
            self.begin.record()
            queue()
            self.end.record()
            late = self.begin.query()  # else the host was done before the clock started
            self.end.synchronize()
            if not late:
                return self.begin.elapsed_time(self.end) * 1e-3
            if self.hold_cycles >= LAST_HOLD_CYCLES:
                raise RuntimeError("the stream cannot be held: does a tool wait for every launch?")
            self.hold_cycles *= 2

    def sample(self, queue):
        self.hold_cycles = FIRST_HOLD_CYCLES
        for _ in range(WARMUPS):
            self.take(queue)
        seconds = []
        start = time.monotonic()
        while True:
            seconds.append(self.take(queue))
            taken = len(seconds)
            if taken >= LEAST_SAMPLES and time.monotonic() - start >= TIMEOUT_SECONDS:
                return seconds
            if taken >= MIN_SAMPLES and (taken - MIN_SAMPLES) % LOOK_EVERY == 0:
                noise = 1.57 * interquartile_range(seconds) / math.sqrt(taken)
                if noise <= MAX_NOISE * statistics.median(seconds):
                    return seconds


def interquartile_range(seconds):
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return high - low


def reference_sum(values):
    """In fp64. By pieces, since a copy of all values would take twice their memory."""
    return sum(piece.double().sum().item() for piece in values.split(1 << 24))


def row(peer, values, reference, sampler):
    """The cells of a row, and whether the sum is right."""
    n = values.numel()
    output = torch.empty((), device="cuda")
    results = []
    for _ in range(REPEATS):
        output.fill_(math.nan)
        peer.queue(values, output)
        results.append((output.item(), output.view(torch.int32).item()))
    sums = [result for result, _ in results]
    error = max(abs(result - reference) for result in sums)
    # A check of sanity, not a bound: the tree of additions is not known here. All values are
    # positive, so that the reference is sum|x| as well. A NaN is outside, too.
    right = all(abs(result - reference) <= 1e-5 * reference for result in sums)

    seconds = sampler.sample(lambda: peer.queue(values, output))
    median = statistics.median(seconds)
    cells = {
        "n": n,
        "bytes": 4 * n,
        "block": peer.block,
        "name": peer.name,
        "verify": "passed" if right else "failed",
        "result": f"{sums[0]:.9g}",
        "error": error,
        "distinct": len({bits for _, bits in results}),
        "median_s": median,
        "min_s": min(seconds),
        "iqr_s": interquartile_range(seconds),
        "samples": len(seconds),
        "bytes_per_s": 4 * n / median,
        "grid": peer.grid(n),
    }
    return cells, right


def measure(first, last, columns):
    properties = torch.cuda.get_device_properties(0)
    peers = [torch_sum()]
    if no_triton:
        say(f"no Triton, torch.sum only: {no_triton}")
    else:
        peers.append(triton_two_pass(properties.multi_processor_count))
    sampler = Sampler(properties.L2_cache_size)
    generator = torch.Generator("cuda").manual_seed(SEED)
    all_right = True
    values = None
    for exponent in range(first, last + 1):
        try:
            del values  # before the next, larger ones are made
            torch.cuda.empty_cache()
            values = torch.rand(1 << exponent, device="cuda", generator=generator)
        except torch.cuda.OutOfMemoryError:
            say(f"2^{exponent} values do not fit into the GPU's memory: left out")
            break
        reference = reference_sum(values)
        for peer in peers:
            cells, right = row(peer, values, reference, sampler)
            if not columns:
                columns = list(cells)
                print(*columns, sep=",")
            print(*(cells.get(column, "") for column in columns), sep=",", flush=True)
            all_right = all_right and right
    return 0 if all_right else 1


def say(text):
    print(f"peers: {text}", file=sys.stderr)


def first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0]


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    try:
        first, last = map(int, arguments[:2])
        columns = arguments[2].split(",") if len(arguments) == 3 else []
        named = not columns or {"n", "name"} <= set(columns)
        if len(arguments) > 3 or not named or not 0 <= first <= last <= LARGEST_EXPONENT:
            raise ValueError
    except ValueError:
        say(
            f"FIRST LAST must be exponents of two from 0 to {LARGEST_EXPONENT}, FIRST at most LAST,"
            " and COLUMNS, if any, names with commas between them, n and name among them, not"
            f" '{' '.join(arguments)}'"
        )
        return 2
    if no_torch:
        say(f"no PyTorch: {first_line(no_torch)}")
        return 3
    if not torch.cuda.is_available():
        say("no usable GPU for PyTorch: torch.cuda.is_available() is false")
        return 3
    try:
        return measure(first, last, columns)
    except RuntimeError as error:  # of PyTorch, and so of CUDA
        say(first_line(error))
        return 4


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
