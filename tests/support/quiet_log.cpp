#include <cstdlib>

// Tests provoke errors on purpose. Those that look at the log set its level themselves; others are
// heard with CORACLE_LOG=warning.
namespace {

[[maybe_unused]] const int quiet = ::setenv("CORACLE_LOG", "off", 0);

}  // namespace
