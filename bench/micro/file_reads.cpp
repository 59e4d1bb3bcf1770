// Random reads and small files, against a blocking program and one with a pool of threads:
// bench_file_reads [--quick] [--rounds N] [--folder PATH]
//
// Reads 4 KiB at random places of a file of 256 MiB (64 with --quick) that is in the page cache,
// one at a time and 64 at a time, fewer of them with the file put out of the page cache before, and
// 100,000 (10,000) files of 1 to 8 KiB whole.

#include "../support/ways.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_all.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

using namespace coracle;
using namespace bench;

namespace {

constexpr std::size_t piece = 4096;
constexpr unsigned depth = 64;
constexpr unsigned pool_threads = 16;

/// The places that all ways read, in one order.
class places {
public:
    explicit places(std::uint64_t file_size) noexcept : pieces_(file_size / piece) {}
    std::uint64_t next() noexcept {
        x_ ^= x_ << 13;
        x_ ^= x_ >> 7;
        x_ ^= x_ << 17;
        return x_ % pieces_ * piece;
    }

private:
    std::uint64_t pieces_;
    std::uint64_t x_ = 88172645463325252;
};

std::uint64_t sum_of(const char* bytes) noexcept {
    return static_cast<unsigned char>(bytes[0]) + static_cast<unsigned char>(bytes[piece - 1]);
}

struct random_reads {
    std::string path;
    std::uint64_t size;
    unsigned count;
};

// ---- blocking -----------------------------------------------------------------------------------

class open_file {
public:
    explicit open_file(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (fd_ < 0) fail("open");
    }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;
    ~open_file() { ::close(fd_); }
    int fd() const noexcept { return fd_; }

private:
    int fd_;
};

std::uint64_t by_pread(const random_reads& r) {
    const open_file f(r.path);
    places at(r.size);
    char room[piece];
    std::uint64_t sum = 0;
    for (unsigned i = 0; i != r.count; ++i) {
        if (::pread(f.fd(), room, piece, static_cast<off_t>(at.next())) != piece) fail("pread");
        sum += sum_of(room);
    }
    return sum;
}

/// Threads that do what is handed to them, and hand it back.
template <class Job>
class pool {
public:
    explicit pool(void (*work)(Job&)) : work_(work) {
        for (unsigned i = 0; i != pool_threads; ++i) threads_.emplace_back([this] { run(); });
    }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    ~pool() {
        {
            const std::lock_guard lock(guard_);
            over_ = true;
        }
        asked_.notify_all();
        for (std::thread& t : threads_) t.join();
    }

    void ask(Job& job) {
        {
            const std::lock_guard lock(guard_);
            queue_.push_back(&job);
        }
        asked_.notify_one();
    }
    Job& next_done() {
        std::unique_lock lock(done_guard_);
        done_added_.wait(lock, [this] { return !done_.empty(); });
        Job& job = *done_.front();
        done_.pop_front();
        return job;
    }

private:
    void run() {
        for (;;) {
            std::unique_lock lock(guard_);
            asked_.wait(lock, [this] { return over_ || !queue_.empty(); });
            if (queue_.empty()) return;
            Job* const job = queue_.front();
            queue_.pop_front();
            lock.unlock();
            work_(*job);
            const std::lock_guard done_lock(done_guard_);
            done_.push_back(job);
            done_added_.notify_one();
        }
    }

    void (*work_)(Job&);
    std::mutex guard_;
    std::condition_variable asked_;
    std::deque<Job*> queue_;
    bool over_ = false;
    std::mutex done_guard_;
    std::condition_variable done_added_;
    std::deque<Job*> done_;
    std::vector<std::thread> threads_;
};

struct pread_job {
    int fd = -1;
    std::uint64_t at = 0;
    char room[piece];
};

std::uint64_t by_pool(const random_reads& r, unsigned at_a_time) {
    const open_file f(r.path);
    places at(r.size);
    std::vector<pread_job> jobs(at_a_time);
    pool<pread_job> threads([](pread_job& j) {
        if (::pread(j.fd, j.room, piece, static_cast<off_t>(j.at)) != piece) fail("pread");
    });
    std::uint64_t sum = 0;
    unsigned begun = 0;
    const auto begin = [&](pread_job& j) {
        j.fd = f.fd();
        j.at = at.next();
        ++begun;
        threads.ask(j);
    };
    for (pread_job& j : jobs) begin(j);
    for (unsigned ended = 0; ended != r.count; ++ended) {
        pread_job& j = threads.next_done();
        sum += sum_of(j.room);
        if (begun != r.count) begin(j);
    }
    return sum;
}

// ---- ours ---------------------------------------------------------------------------------------

task<> reader(const fs::file& f, places& at, unsigned& left, std::uint64_t& sum) {
    std::vector<char> room(piece);
    while (left != 0) {
        --left;
        co_await f.read_exactly_at(at.next(), room);
        sum += sum_of(room.data());
    }
}

std::uint64_t by_file(const random_reads& r, unsigned at_a_time, const char* backend) {
    ::setenv("CORACLE_BACKEND", backend, 1);
    return block_on([&]() -> task<std::uint64_t> {
        const fs::file f = co_await fs::open(r.path);
        places at(r.size);
        unsigned left = r.count;
        std::uint64_t sum = 0;
        std::vector<task<>> all;
        for (unsigned i = 0; i != at_a_time; ++i) all.push_back(reader(f, at, left, sum));
        co_await when_all(std::move(all));
        co_return sum;
    });
}

// ---- small files --------------------------------------------------------------------------------

std::string name_of(const std::string& folder, unsigned i) {
    return folder + "/" + std::to_string(i);
}

std::uint64_t read_whole(const std::string& path) {
    const open_file f(path);
    struct stat s{};
    if (::fstat(f.fd(), &s) != 0) fail("fstat");
    std::string text(static_cast<std::size_t>(s.st_size) + 1, '\0');
    std::size_t done = 0;
    for (;;) {
        const ssize_t n = ::read(f.fd(), text.data() + done, text.size() - done);
        if (n < 0) fail("read");
        if (n == 0) return done;
        done += static_cast<std::size_t>(n);
    }
}

std::uint64_t files_blocking(const std::string& folder, unsigned count) {
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i != count; ++i) bytes += read_whole(name_of(folder, i));
    return bytes;
}

struct file_job {
    std::string path;
    std::uint64_t bytes = 0;
};

std::uint64_t files_by_pool(const std::string& folder, unsigned count) {
    std::vector<file_job> jobs(depth);
    pool<file_job> threads([](file_job& j) { j.bytes = read_whole(j.path); });
    std::uint64_t bytes = 0;
    unsigned begun = 0;
    const auto begin = [&](file_job& j) {
        j.path = name_of(folder, begun++);
        threads.ask(j);
    };
    for (file_job& j : jobs) begin(j);
    for (unsigned ended = 0; ended != count; ++ended) {
        file_job& j = threads.next_done();
        bytes += j.bytes;
        if (begun != count) begin(j);
    }
    return bytes;
}

task<> file_reader(const std::string& folder, unsigned& left, std::uint64_t& bytes) {
    while (left != 0) {
        std::string path = name_of(folder, --left);
        const std::string text = co_await fs::read_text(std::move(path));
        bytes += text.size();
    }
}

std::uint64_t files_by_tasks(const std::string& folder, unsigned count, const char* backend) {
    ::setenv("CORACLE_BACKEND", backend, 1);
    return block_on([&]() -> task<std::uint64_t> {
        unsigned left = count;
        std::uint64_t bytes = 0;
        std::vector<task<>> all;
        for (unsigned i = 0; i != depth; ++i) all.push_back(file_reader(folder, left, bytes));
        co_await when_all(std::move(all));
        co_return bytes;
    });
}

void make_content(const std::string& folder, const random_reads& r, unsigned files) {
    const auto write = [](const std::string& path, std::string_view text) {
        std::FILE* const f = std::fopen(path.c_str(), "w");
        if (f == nullptr || std::fwrite(text.data(), 1, text.size(), f) != text.size())
            fail("write");
        std::fclose(f);
    };
    std::string content(r.size, '\0');
    std::uint32_t x = 1;
    for (char& c : content) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
    write(r.path, content);
    for (unsigned i = 0; i != files; ++i) {
        write(name_of(folder, i), std::string_view(content).substr(i, 1024 + i * 7919 % 7168));
    }
}

/// Puts a file out of the page cache, as far as the system does that when it is asked.
void cool(const std::string& path) {
    const open_file f(path);
    if (::fdatasync(f.fd()) != 0) fail("fdatasync");
    if (::posix_fadvise(f.fd(), 0, 0, POSIX_FADV_DONTNEED) != 0) fail("posix_fadvise");
}

void compare_cold(const random_reads& r, int rounds) {
    const auto cold = [&] { cool(r.path); };
    compare("4 KiB at random from the disk, one at a time",
            {{"pread", [&] { return by_pread(r); }},
             {"fs::file on io_uring", [&] { return by_file(r, 1, "uring"); }},
             {"fs::file on epoll", [&] { return by_file(r, 1, "epoll"); }}},
            rounds, cold);
    compare("4 KiB at random from the disk, 64 at a time",
            {{"pread on 16 threads", [&] { return by_pool(r, depth); }},
             {"pread, one at a time", [&] { return by_pread(r); }},
             {"fs::file on io_uring", [&] { return by_file(r, depth, "uring"); }},
             {"fs::file on epoll", [&] { return by_file(r, depth, "epoll"); }}},
            rounds, cold);
}

}  // namespace

int main(int argc, char** argv) {
    const way_options options(argc, argv);
    const own_folder folder(options.folder);
    const random_reads r{folder.path() + "/large", std::uint64_t{options.quick ? 64u : 256u} << 20,
                         options.quick ? 50'000u : 500'000u};
    const unsigned files = options.quick ? 10'000 : 100'000;
    const std::string& in = folder.path();
    make_content(in, r, files);

    compare("4 KiB at random, one at a time",
            {{"pread", [&] { return by_pread(r); }},
             {"fs::file on io_uring", [&] { return by_file(r, 1, "uring"); }},
             {"fs::file on epoll", [&] { return by_file(r, 1, "epoll"); }}},
            options.rounds);
    compare("4 KiB at random, 64 at a time",
            {{"pread on 16 threads", [&] { return by_pool(r, depth); }},
             {"pread, one at a time", [&] { return by_pread(r); }},
             {"fs::file on io_uring", [&] { return by_file(r, depth, "uring"); }},
             {"fs::file on epoll", [&] { return by_file(r, depth, "epoll"); }}},
            options.rounds);
    compare_cold({r.path, r.size, options.quick ? 2'000u : 10'000u}, options.rounds);
    compare("small files, whole",
            {{"open, fstat, read, close", [&] { return files_blocking(in, files); }},
             {"the same on 16 threads, 64 at a time", [&] { return files_by_pool(in, files); }},
             {"fs::read_text on io_uring, 64", [&] { return files_by_tasks(in, files, "uring"); }},
             {"fs::read_text on epoll, 64", [&] { return files_by_tasks(in, files, "epoll"); }}},
            options.rounds);
    return 0;
}
