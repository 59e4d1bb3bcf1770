#include "fs/line_output.hpp"
#include "fs/line_writer.hpp"

#include <coracle/fs/line_file.hpp>
#include <coracle/runtime/loop.hpp>

namespace coracle::fs {
namespace {

std::unique_ptr<detail::line_writer> make_writer(std::string path, line_file_options options) {
    loop* const here = loop::current();
    const bool simulated = here != nullptr && !here->backend().is_of_the_system();
    if (simulated && !detail::is_standard_output(path)) {
        return detail::make_simulated_line_writer(std::move(path), options);
    }
    return detail::make_threaded_line_writer(std::move(path), options);
}

}  // namespace

line_file::line_file(std::string path, line_file_options options)
    : writer_(make_writer(std::move(path), options)) {}
line_file::~line_file() = default;

bool line_file::add(std::string_view line) noexcept {
    return writer_->add(line);
}
void line_file::reopen() noexcept {
    writer_->reopen();
}
bool line_file::flush(duration most) {
    return writer_->flush(most);
}
line_file_counters line_file::counters() const noexcept {
    return writer_->counters();
}

}  // namespace coracle::fs
