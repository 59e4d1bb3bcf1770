// Messages to a service manager whose queue is full.

#include "support/temporary_directory.hpp"

#include <coracle/net/address.hpp>
#include <coracle/net/service_manager.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

using namespace coracle;

namespace {

/// Returns true if a thread of this process sleeps in the kernel.
bool is_asleep(int thread) {
    std::ifstream in("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(in, text);
    const std::size_t end = text.rfind(')');
    return end != std::string::npos && text.substr(end, 4) == ") S ";
}

/// A manager's socket, with messages of others up to what it takes.
class full_queue {
public:
    full_queue() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        const std::string path = folder_.path() / "notify";
        at_ = net::address::parse("unix:" + path)->to_endpoint();
        EXPECT_EQ(::bind(socket_.get(), where(), at_.size), 0);
        ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
        const owned_fd other(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        while (::sendto(other.get(), "x", 1, MSG_DONTWAIT, where(), at_.size) == 1) ++messages_;
    }
    /// Takes the next message out.
    std::string next() const {
        char text[256];
        const ssize_t n = ::recv(socket_.get(), text, sizeof text, MSG_DONTWAIT);
        return n < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(n));
    }
    int messages() const noexcept { return messages_; }

private:
    const sockaddr* where() const noexcept { return reinterpret_cast<const sockaddr*>(at_.bytes); }

    coracle::testing::temporary_directory folder_;
    owned_fd socket_;
    endpoint at_;
    int messages_ = 0;
};

}  // namespace

TEST(service_manager, waits_for_room_for_what_nothing_repeats) {
    const full_queue queue;
    const auto m = net::service_manager::from_environment();
    ASSERT_TRUE(m);
    EXPECT_FALSE(m->alive()) << "the next one comes soon";
    EXPECT_FALSE(m->status("well"));
    const int waiting = static_cast<int>(::syscall(SYS_gettid));
    std::jthread reader([&queue, waiting] {
        while (!is_asleep(waiting)) std::this_thread::yield();
        EXPECT_EQ(queue.next(), "x");
    });
    const char* const message = "STATUS=up\nREADY=1";
    auto ready = m->notify(message);
    // The reader may get no turn within its patience.
    while (!ready && ready.error() == std::errc::resource_unavailable_try_again) {
        ready = m->notify(message);
    }
    EXPECT_TRUE(ready) << ready.error();
    reader.join();
    for (int i = 1; i != queue.messages(); ++i) EXPECT_EQ(queue.next(), "x");
    EXPECT_EQ(queue.next(), message);
    EXPECT_EQ(queue.next(), "nothing");
}
