// Where CORACLE_REQUIRE_PEERS is 1, as in .ci/run, a test that is skipped fails: what the machine
// lacks (a peer, a backend, a right) is to be installed there. Only what a build cannot have, such
// as counted allocations under a sanitizer, may be skipped: its reason says "in this build".

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace {

class no_skipping final : public ::testing::EmptyTestEventListener {
    void OnTestPartResult(const ::testing::TestPartResult& r) override {
        constexpr std::string_view excused = "in this build";
        if (r.skipped() && std::string_view(r.message()).find(excused) == excused.npos) {
            reason_ = r.message();
        }
    }
    void OnTestEnd(const ::testing::TestInfo&) override {
        if (reason_.empty()) return;
        ADD_FAILURE() << "skipped, where CORACLE_REQUIRE_PEERS is 1: "
                      << std::exchange(reason_, std::string());
    }
    std::string reason_;
};

const bool is_installed = [] {
    const char* const wanted = std::getenv("CORACLE_REQUIRE_PEERS");
    if (wanted == nullptr || std::string_view(wanted) != "1") return false;
    // gtest owns it.
    ::testing::UnitTest::GetInstance()->listeners().Append(new no_skipping);
    return true;
}();

}  // namespace
