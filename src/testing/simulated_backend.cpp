#include "testing/loop_view.hpp"

#include <coracle/testing/simulated_backend.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace coracle::testing {
namespace {

void trace_to_stderr(void*, std::string_view line) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

simulation_options with_trace(simulation_options o) {
    if (o.trace != nullptr) return o;
    const char* wanted = std::getenv("CORACLE_SIMULATION_TRACE");
    if (wanted != nullptr && std::string_view(wanted) != "0") o.trace = &trace_to_stderr;
    return o;
}

}  // namespace

simulated_backend::simulated_backend(const simulation_options& options)
    : simulated_backend(std::make_shared<detail::world>(with_trace(options))) {}

simulated_backend::simulated_backend(std::shared_ptr<detail::world> shared)
    : world_(std::move(shared)), view_(std::make_unique<detail::loop_view>(world_)) {}

simulated_backend::~simulated_backend() = default;

std::unique_ptr<simulated_backend> simulated_backend::sibling() {
    return std::unique_ptr<simulated_backend>(new simulated_backend(world_));
}

void simulated_backend::on_failure(failure_handler f, void* user) noexcept {
    world_->failed = f;
    world_->failed_user = user;
}

bool simulated_backend::submit(io_operation& op) noexcept {
    return view_->start(op);
}

void simulated_backend::cancel(io_operation& op) noexcept {
    view_->cancel(op);
}

void simulated_backend::wait(time_point until) noexcept {
    const waiting_mark mark(*this);
    view_->wait(until);
}

void simulated_backend::wake() noexcept {
    view_->woken.store(true, std::memory_order_release);
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
                                                         const socket_options& o) noexcept {
    // A simulated world has no devices.
    if (o.device.text[0] != '\0') {
        return std::unexpected(error(std::errc::no_such_device, "device"));
    }
    const bool is_bound = o.local.size != 0;
    const net::family wanted = net::address::from(peer).family();
    if (is_bound && wanted == net::family::unix_path) return world_->open_stream({});
    if (is_bound && net::address::from(o.local).family() != wanted) {
        return std::unexpected(error(std::errc::invalid_argument, "bind"));
    }
    return world_->open_stream(o.local);
}

std::expected<int, error> simulated_backend::open_datagram(endpoint& at,
                                                           const datagram_options& o) noexcept {
    return world_->open_datagram(at, o);
}

std::expected<endpoint, error> simulated_backend::local_endpoint(int fd) noexcept {
    return world_->local_endpoint(fd);
}

std::expected<int, error> simulated_backend::duplicate(const descriptor& d) noexcept {
    return world_->duplicate(d.fd);
}

std::expected<void, error> simulated_backend::attach(descriptor& d, int fd) noexcept {
    return world_->attach(d, fd, *view_);
}

void simulated_backend::close(descriptor& d, bool reset) noexcept {
    if (!d.open()) return;
    if (d.input != nullptr || d.output != nullptr) {
        view_->broken_contract("waits on a descriptor that is closed");
    }
    world_->close(d.fd, reset);
    view_->forget(d);
    d.fd = -1;
    d.watch = nullptr;
    d.input = d.output = nullptr;
}

bool simulated_backend::watch_hangup(descriptor& d, hangup_watch* w) noexcept {
    d.watch = nullptr;
    if (!d.open()) return w == nullptr;
    if (w != nullptr && world_->hung_up(d.fd, *w)) return false;
    d.watch = w;
    return true;
}

bool simulated_backend::has_input(descriptor& d) noexcept {
    return !d.open() || world_->has_input(d.fd);
}

std::int64_t simulated_backend::try_send(descriptor& d, slice bytes) noexcept {
    if (d.output != nullptr) view_->broken_contract("begins while another sends");
    if (world_->falters(8) || world_->interrupted()) return -EAGAIN;
    if (world_->out_of_memory(d.fd)) return -ENOMEM;
    return world_->send_some(d.fd, {bytes.data, bytes.size});
}

void simulated_backend::shutdown_output(descriptor& d) noexcept {
    world_->shut_output(d.fd);
}

void simulated_backend::turn_away(descriptor& d) noexcept {
    world_->turn_away(d.fd);
}

void simulated_backend::discard(int fd) noexcept {
    world_->close(fd, false);
}

// ---- the world ----------------------------------------------------------------------------------

void simulated_backend::add_name(std::string_view host, std::vector<net::address> addresses,
                                 duration ttl) {
    world_->add_name(host, std::move(addresses), ttl);
}

void simulated_backend::fail_name(std::string_view host, int number, duration after) {
    world_->fail_name(host, number, after);
}

void simulated_backend::add_mail_hosts(std::string_view domain,
                                       const std::vector<net::mail_host>& hosts) {
    world_->add_mail_hosts(domain, hosts);
}

void simulated_backend::delay_names(duration least, duration most) noexcept {
    world_->delay_names(least, most);
}

void simulated_backend::black_hole(const net::address& to) {
    world_->black_hole(to, true);
}

void simulated_backend::restore(const net::address& to) {
    world_->black_hole(to, false);
}

fault_set simulated_backend::faults_on(const net::address& client) const {
    return world_->faults_on(client);
}

std::uint64_t simulated_backend::submitted(opcode kind) const noexcept {
    return world_->submitted(kind);
}

simulated_disk& simulated_backend::disk() noexcept {
    return world_->disk();
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
