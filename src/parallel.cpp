#include "parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace reduce_ladder {

unsigned host_cores() {
  return std::max(1U, std::thread::hardware_concurrency());
}

void parallel_chunks(std::size_t chunks, const std::function<void(std::size_t chunk)>& body) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  auto work = [&] {
    try {
      for (std::size_t chunk = next++; chunk < chunks; chunk = next++) body(chunk);
    } catch (...) {
      const std::scoped_lock lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = chunks;
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t useful = std::min<std::size_t>(chunks, host_cores());
    for (std::size_t i = 1; i < useful; ++i) helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

void fill_in_parallel(const Fill& fill, Index begin, std::span<float> out) {
  constexpr std::size_t chunk = std::size_t{1} << 16U;
  parallel_chunks((out.size() + chunk - 1) / chunk, [&](std::size_t c) {
    const std::size_t offset = c * chunk;
    fill(begin + offset, out.subspan(offset, std::min(chunk, out.size() - offset)));
  });
}

}  // namespace reduce_ladder
