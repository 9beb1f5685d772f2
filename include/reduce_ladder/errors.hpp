// One exception type for each cause that ends a run. Only main turns them into an exit status.
#pragma once

#include <stdexcept>

namespace reduce_ladder {

// The command line asks for something that is not allowed. Exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An input file that cannot be read or is not what it claims to be. Exit status 2.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A report that cannot be written. Exit status 2.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A GPU was required and none is usable. Exit status 3.
struct NoGpuError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A CUDA call failed. Exit status 4.
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The host or the device has too little memory for the problem. Exit status 4.
struct OutOfMemoryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The hardware counters cannot be read. Exit status 4 with --counters=require.
struct CountersUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A simulated kernel broke the rules of the SIMT machine. The stage fails; the run goes on.
struct SimulatorFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace reduce_ladder
