#include "http/body/save_pieces.hpp"

#include "base/utf8.hpp"
#include "fs/replacement.hpp"

#include <coracle/runtime/offload.hpp>

#include <algorithm>
#include <memory>

namespace coracle::http::detail {

destination destination::at(std::string_view path, fs::if_exists policy) {
    const std::size_t slash = path.rfind('/');
    destination to;
    to.directory = slash == std::string_view::npos ? std::string_view(".")
                   : slash == 0                    ? std::string_view("/")
                                                   : path.substr(0, slash);
    to.name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    to.policy = policy;
    return to;
}

namespace {

/// The bytes of one write on a thread.
constexpr std::size_t gathered = 256 * 1024;
/// The numbered names that are tried before a random one.
constexpr int most_names = 100;
/// The longest extension that stays after an added number, as `mime::safe_filename` keeps it.
constexpr std::size_t longest_extension = 32;

// "boat.tar" as "boat-1.tar"; the name stays short enough.
std::string numbered(const std::string& name, std::uint64_t i) {
    std::size_t dot = std::min(name.rfind('.'), name.size());
    // The client's file name may be only an extension, too long for a number.
    if (name.size() - dot > longest_extension) dot = name.size();
    const std::string end = "-" + std::to_string(i) + name.substr(dot);
    constexpr std::size_t longest = 255;
    const std::size_t most = std::min(dot, longest - end.size());
    return std::string(coracle::detail::utf8_prefix(name, most)) + end;
}

/// Returns the i-th name to try for `wanted`. A random number has more digits than any counted one.
std::string next_name(const std::string& wanted, int i, std::uint64_t random) {
    const std::uint64_t number = random | std::uint64_t{1} << 63;
    return numbered(wanted, i == most_names ? number : static_cast<unsigned>(i));
}

std::string path_of(const destination& to) {
    return to.directory + (to.directory.ends_with('/') ? "" : "/") + to.name;
}

/// A file that is being written, used by a thread while its owner waits. An unfinished file is
/// removed on a thread too: to free a large file takes a disk its time.
class file_on_its_way {
public:
    file_on_its_way(destination to, std::uint64_t random, loop& owner)
        : to_(std::move(to)), random_(random), owner_(&owner) {}
    file_on_its_way(const file_on_its_way&) = delete;
    file_on_its_way& operator=(const file_on_its_way&) = delete;
    ~file_on_its_way() {
        if (!writer_.open()) return;
        thread_pool* pool = owner_->offload_pool();
        // If the pool refuses the function, or without memory, it is destroyed here, and the file
        // with it.
        auto clear_away = [w = std::move(writer_)]() mutable noexcept { w.discard(); };
        try {
            if (pool != nullptr) static_cast<void>(pool->try_post(std::move(clear_away)));
        } catch (const std::bad_alloc&) {
            return;
        }
    }

    bool full() const noexcept { return buffer_.size() >= gathered; }
    /// Returns the bytes of `piece` that were taken.
    std::size_t gather(std::string_view piece) {
        if (buffer_.capacity() == 0) buffer_.reserve(std::min(gathered, piece.size() * 2));
        const std::size_t n = std::min(piece.size(), gathered - buffer_.size());
        if (buffer_.size() + n > buffer_.capacity()) buffer_.reserve(gathered);
        buffer_.append(piece.substr(0, n));
        return n;
    }

    /// Writes the gathered bytes on a thread, and with `last` names the file.
    std::expected<void, error> write(bool last) {
        if (!writer_.open()) {
            auto created = fs::file_writer::create(to_.directory, random_);
            if (!created) return std::unexpected(std::move(created).error());
            writer_ = *std::move(created);
        }
        auto written = writer_.write(buffer_);
        if (!written) return std::unexpected(std::move(written.error().on(to_.directory)));
        size_ += buffer_.size();
        buffer_.clear();
        if (!last) return {};
        return name_it();
    }

    /// Returns true when the file is complete and has its name.
    bool is_named() const noexcept { return is_named_; }
    saved_file result() const { return {path_of(to_), size_}; }

private:
    std::expected<void, error> name_it() {
        const std::string wanted = to_.name;
        for (int i = 1;; ++i) {
            auto named = writer_.commit(to_.name, to_.policy);
            is_named_ = named.has_value();
            if (named || named.error() != std::errc::file_exists || i > most_names) return named;
            to_.name = next_name(wanted, i, random_);
        }
    }

    destination to_;
    std::uint64_t random_;
    loop* owner_;
    fs::file_writer writer_;
    std::string buffer_;
    std::uint64_t size_ = 0;
    bool is_named_ = false;
};

task<std::expected<void, error>> write_gathered(file_on_its_way* file, bool last) {
    const auto work = [file, last] { return file->write(last); };
    auto done = co_await as_result(coracle::detail::offload_file_work(work));
    // A wait that is cancelled ends when the thread has: by then it may have been done.
    if (file->is_named()) co_return std::expected<void, error>();
    if (!done) co_return std::unexpected(std::move(done).error());
    co_return *std::move(done);
}

using saved = std::expected<saved_file, error>;

/// Gives a failure the operation that those of the system's files have.
std::unexpected<error> failed_to_save(const error& e) {
    return std::unexpected(error(e.code(), "save").on(e.subject()));
}

// ---- on the disk of a simulation ------------------------------------------------------------

task<std::expected<std::uint64_t, error>> write_pieces(piece_source* read, const fs::file* to) {
    std::uint64_t size = 0;
    for (;;) {
        auto reading = (*read)();
        auto piece = co_await as_result(reading);
        if (!piece) co_return std::unexpected(std::move(piece).error());
        if (piece->empty()) co_return size;
        auto writing = to->write_at(size, *piece);
        auto written = co_await as_result(writing);
        if (!written) co_return failed_to_save(written.error());
        size += piece->size();
    }
}

task<std::expected<void, error>> name_it(fs::detail::replacement* file, destination* to) {
    const bool replaces = to->policy == fs::if_exists::replace;
    const auto how = replaces ? fs::renaming::replace : fs::renaming::no_replace;
    const std::string wanted = to->name;
    for (int i = 1;; ++i) {
        auto named = co_await file->commit(how, false);
        if (named || named.error() != std::errc::file_exists || i > most_names) co_return named;
        to->name = next_name(wanted, i, loop::current()->random());
        file->name_it(path_of(*to));
    }
}

task<saved> save_in_simulation(piece_source read, destination to) {
    fs::detail::replacement file;
    auto begun = co_await file.begin(path_of(to), 0666);
    if (!begun) co_return failed_to_save(begun.error());
    auto size = co_await write_pieces(&read, &file.content());
    std::expected<void, error> named;
    if (size) named = co_await name_it(&file, &to);
    if (size && named) co_return saved_file{path_of(to), *size};
    co_await file.abandon();
    if (!size) co_return std::unexpected(std::move(size).error());
    co_return failed_to_save(named.error());
}

}  // namespace

task<std::expected<saved_file, error>> save_pieces(piece_source read, destination to) {
    loop& here = *loop::current();
    if (!here.backend().is_of_the_system()) {
        co_return co_await save_in_simulation(std::move(read), std::move(to));
    }
    file_on_its_way file(std::move(to), here.random(), here);
    for (;;) {
        auto reading = read();
        auto piece = co_await as_result(reading);
        if (!piece) co_return std::unexpected(std::move(piece).error());
        const bool last = piece->empty();
        std::string_view rest = *piece;
        while (last || !rest.empty()) {
            rest.remove_prefix(file.gather(rest));
            if (!last && !file.full()) break;
            auto written = co_await write_gathered(&file, last);
            if (!written) co_return std::unexpected(std::move(written).error());
            if (last) co_return file.result();
        }
    }
}

task<std::expected<saved_file, error>> save_pieces_at(piece_source read, std::string path) {
    auto target = co_await fs::detail::replaceable(std::move(path));
    if (!target) co_return std::unexpected(std::move(target).error());
    auto saving = save_pieces(std::move(read), destination::at(*target, fs::if_exists::replace));
    co_return co_await std::move(saving);
}

}  // namespace coracle::http::detail
