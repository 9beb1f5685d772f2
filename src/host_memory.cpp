#include "host_memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <new>

#include "reduce_ladder/errors.hpp"

namespace reduce_ladder {

std::unique_ptr<float[]> allocate_values(Index n) {
  // A kernel that overcommits would hand out more than it has, and kill the process while that is
  // filled.
  const Index memory_bytes =
      static_cast<Index>(sysconf(_SC_PHYS_PAGES)) * static_cast<Index>(sysconf(_SC_PAGESIZE));
  try {
    if (n > memory_bytes / sizeof(float)) throw std::bad_alloc();
    return std::make_unique_for_overwrite<float[]>(n);
  } catch (const std::bad_alloc&) {
    constexpr double gib = 1024.0 * 1024.0 * 1024.0;
    throw OutOfMemoryError(
        fmt::format("{} values need {:.1f} GiB of host memory, more than there is", n,
                    static_cast<double>(n) * sizeof(float) / gib));
  }
}

}  // namespace reduce_ladder
