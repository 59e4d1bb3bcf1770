// Gives every file of a corpus to a fuzz target, without libFuzzer: so each compiler and each
// sanitizer of the test suite tries what fuzzing once found.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& place) {
    std::vector<fs::path> found;
    if (fs::is_regular_file(place)) {
        found.push_back(place);
    } else if (fs::is_directory(place)) {
        for (const auto& entry : fs::recursive_directory_iterator(place)) {
            if (entry.is_regular_file()) {
                found.push_back(entry.path());
            }
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

void replay(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    // A copy of exactly this size on the heap: a read past its end is one that ASan sees.
    const auto input = std::make_unique<std::uint8_t[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), input.get());
    LLVMFuzzerTestOneInput(input.get(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t replayed = 0;
    for (int i = 1; i < argc; ++i) {
        for (const fs::path& path : files_below(argv[i])) {
            // Printed first, so that it is the last line when the target aborts.
            std::printf("%s\n", path.c_str());
            std::fflush(stdout);
            replay(path);
            ++replayed;
        }
    }
    if (replayed == 0) {
        std::fprintf(stderr, "usage: %s FILE_OR_FOLDER...: no file there\n", argv[0]);
        return 1;
    }
    std::printf("%zu inputs replayed\n", replayed);
}
