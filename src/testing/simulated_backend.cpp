#include "testing/world.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/testing/simulated_backend.hpp>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace coracle::testing {
namespace detail {

/// The world as one loop sees it: what waits on its descriptors, and whether it can go on.
class loop_view final : public world, world::completer {
public:
    explicit loop_view(const simulation_options& o)
        : world(o), turns_left_(o.max_turns), ends_(now() + o.max_time) {
        completes = this;
    }

    bool start(io_operation& op);
    void wait(time_point until);
    void broken_contract(const char* what) { fail(std::string("an operation ") + what); }

    std::atomic<bool> woken{false};
    simulated_backend::failure_handler failed = nullptr;
    void* user = nullptr;

private:
    std::int64_t attempt(io_operation& op);
    void complete(io_operation& op) noexcept {
        coracle::loop::current()->refill_inline_budget();
        op.completed(op);
    }
    void retry(io_operation*& place) {
        const std::int64_t result = attempt(*place);
        if (result == -EAGAIN) return;
        place->result = result;
        complete(*std::exchange(place, nullptr));
    }
    void input_ready(descriptor& d) noexcept override {
        if (d.input != nullptr) retry(d.input);
    }
    void output_ready(descriptor& d) noexcept override {
        if (d.output != nullptr && d.output->code != opcode::connect) retry(d.output);
    }
    void connected(descriptor& d, std::int64_t result) noexcept override {
        if (d.output == nullptr || d.output->code != opcode::connect) return;
        d.output->result = result;
        complete(*std::exchange(d.output, nullptr));
    }

    void fail(const std::string& why);
    void stuck(const std::string& why);

    std::uint64_t turns_left_;
    time_point ends_;
    bool failed_ = false;
};

std::int64_t loop_view::attempt(io_operation& op) {
    switch (op.code) {
        case opcode::accept: return try_accept(static_cast<address_operation&>(op));
        case opcode::connect: return begin_connect(static_cast<address_operation&>(op));
        case opcode::receive: return try_receive(static_cast<receive_operation&>(op));
        case opcode::send: return try_send_all(static_cast<send_operation&>(op));
        case opcode::send_file: return try_send_file(static_cast<send_file_operation&>(op));
        default: return -ENOTSUP;
    }
}

bool loop_view::start(io_operation& op) {
    if (op.code == opcode::readable || op.code == opcode::writable) {
        op.result = -ENOTSUP;
        return true;
    }
    const bool is_input = op.code == opcode::receive || op.code == opcode::accept;
    io_operation*& place = is_input ? op.on->input : op.on->output;
    if (place != nullptr) {
        broken_contract("begins while another waits in its direction");
        op.result = -EBUSY;
        return true;
    }
    if (op.code == opcode::connect || !holds_back(op.on->fd)) {
        op.result = attempt(op);
        if (op.result != -EAGAIN) return true;
    }
    place = &op;
    return false;
}

void loop_view::wait(time_point until) {
    if (woken.exchange(false, std::memory_order_acquire)) until = time_point::min();
    if (turns_left_-- == 0) stuck("the run does not end within the bound on turns");
    if (!pass(until)) {
        stuck("deadlock: nothing is left that could happen, and the run has not ended");
    } else if (now() > ends_) {
        stuck("the run does not end within the bound on virtual time");
    }
}

void loop_view::fail(const std::string& why) {
    if (std::exchange(failed_, true)) return;
    // What is cancelled now may need a while to unwind.
    turns_left_ = options.max_turns;
    ends_ = now() + options.max_time;
    if (failed != nullptr) failed(user, why);
}

void loop_view::stuck(const std::string& why) {
    if (!failed_ && failed != nullptr) return fail(why);
    std::fprintf(stderr, "seed %llu: %s, although everything was cancelled\n",
                 static_cast<unsigned long long>(options.seed), why.c_str());
    std::abort();
}

}  // namespace detail

using detail::loop_view;

namespace {

loop_view& view(const std::unique_ptr<detail::world>& w) noexcept {
    return static_cast<loop_view&>(*w);
}

}  // namespace

simulated_backend::simulated_backend(const simulation_options& options)
    : world_(std::make_unique<loop_view>(options)) {}

simulated_backend::~simulated_backend() = default;

void simulated_backend::on_failure(failure_handler f, void* user) noexcept {
    view(world_).failed = f;
    view(world_).user = user;
}

bool simulated_backend::submit(io_operation& op) noexcept {
    return view(world_).start(op);
}

void simulated_backend::cancel(io_operation& op) noexcept {
    if (op.on == nullptr) return;
    descriptor& d = *op.on;
    if (d.input == &op)
        d.input = nullptr;
    else if (d.output == &op)
        d.output = nullptr;
    else
        return;
    op.result = -ECANCELED;
    loop::current()->complete_later(op);
}

void simulated_backend::wait(time_point until) noexcept {
    ++counters_.waits;
    view(world_).wait(until);
}

void simulated_backend::wake() noexcept {
    view(world_).woken.store(true, std::memory_order_release);
}

time_point simulated_backend::now() noexcept {
    return world_->now();
}

std::int64_t simulated_backend::wall_clock() noexcept {
    return world_->wall_clock();
}

std::uint64_t simulated_backend::random() noexcept {
    return world_->random();
}

std::expected<int, error> simulated_backend::listen(endpoint& at,
                                                    const socket_options& o) noexcept {
    return world_->listen(at, o);
}

std::expected<int, error> simulated_backend::open_stream(const endpoint& peer,
                                                         const socket_options&) noexcept {
    return world_->open_stream(peer);
}

std::expected<endpoint, error> simulated_backend::local_endpoint(int fd) noexcept {
    return world_->local_endpoint(fd);
}

std::expected<void, error> simulated_backend::attach(descriptor& d, int fd) noexcept {
    return world_->attach(d, fd);
}

void simulated_backend::close(descriptor& d, bool reset) noexcept {
    if (!d.open()) return;
    if (d.input != nullptr || d.output != nullptr) {
        view(world_).broken_contract("waits on a descriptor that is closed");
    }
    world_->close(d.fd, reset);
    d.fd = -1;
    d.flags = 0;
    d.watch = nullptr;
    d.input = d.output = nullptr;
}

bool simulated_backend::watch_hangup(descriptor& d, hangup_watch* w) noexcept {
    d.watch = nullptr;
    if (world_->hung_up(d.fd)) return false;
    d.watch = w;
    return true;
}

std::int64_t simulated_backend::try_send(descriptor& d, slice bytes) noexcept {
    if (d.output != nullptr) view(world_).broken_contract("begins while another sends");
    if (world_->falters(8)) return -EAGAIN;
    return world_->send_some(d.fd, {bytes.data, bytes.size});
}

void simulated_backend::shutdown_output(descriptor& d) noexcept {
    world_->shut_output(d.fd);
}

void simulated_backend::discard(int fd) noexcept {
    world_->close(fd, false);
}

std::uint64_t simulated_backend::trace() const noexcept {
    return world_->trace();
}

std::size_t simulated_backend::open_descriptors() const noexcept {
    return world_->open_descriptors();
}

void simulated_backend::limit_descriptors(std::size_t most) noexcept {
    world_->options.descriptors = most;
}

}  // namespace coracle::testing
