// Looks for a text in all files below a folder, many files at a time: grep TEXT FOLDER
//
// The walk and the reading never block the loop; files that cannot be read are reported and passed
// over.

#include <coracle/fs/walk.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/task_group.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>

using namespace coracle;

namespace {

constexpr std::size_t files_at_a_time = 64;
constexpr std::size_t largest_file = 16 * 1024 * 1024;

struct search {
    std::string_view text;
    std::size_t lines = 0;
    bool failed = false;
};

void report(search& s, const error& e) {
    std::cerr << "grep: " << e << '\n';
    s.failed = true;
}

void print_matches(search& s, std::string_view path, std::string_view content) {
    if (content.substr(0, 1024).find('\0') != std::string_view::npos) return;  // no text
    std::size_t number = 1;
    std::size_t counted = 0;
    // An empty text is found after the last line, too.
    for (auto at = content.find(s.text); at < content.size();) {
        number += static_cast<std::size_t>(
            std::count(content.begin() + static_cast<std::ptrdiff_t>(counted),
                       content.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
        const std::size_t begin = at == 0 ? 0 : content.rfind('\n', at - 1) + 1;
        const std::size_t end = std::min(content.find('\n', at), content.size());
        std::cout << path << ':' << number << ':' << content.substr(begin, end - begin) << '\n';
        ++s.lines;
        counted = at;
        at = content.find(s.text, end + 1);
    }
}

task<> search_file(search& s, std::string path) {
    auto content = co_await as_result(fs::read_text(path, largest_file));
    if (!content) {
        report(s, content.error());
        co_return;
    }
    print_matches(s, path, *content);
}

task<> search_folder(search& s, std::string folder) {
    auto all = fs::walk(std::move(folder));
    const auto read_together = [&](task_group& group) -> task<> {
        while (auto entry = co_await all.next()) {
            if (entry->problem) report(s, *entry->problem);
            if (!entry->is_regular()) continue;
            const auto one = [&s, path = entry->path] { return search_file(s, path); };
            co_await group.spawn_when_free(one);
        }
    };
    co_await with_task_group(files_at_a_time, read_together);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: grep TEXT FOLDER\n";
        return 2;
    }
    std::ios::sync_with_stdio(false);
    search s{.text = argv[1]};
    const auto main = [&]() -> task<> {
        auto done = co_await as_result(search_folder(s, argv[2]));
        if (!done) report(s, done.error());
    };
    block_on(main);
    return s.failed ? 2 : s.lines == 0 ? 1 : 0;
}
