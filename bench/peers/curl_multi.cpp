// libcurl's multi interface, as well as it can be written: easy handles that are used again, a
// connection cache that holds them all, on epoll (curl_multi_socket_action) or on libcurl's own
// poll (curl_multi_perform), which is the cheaper one for few connections.
//
//   curl_multi URL COUNT CONCURRENCY [epoll|poll [CAFILE]]
//
// Prints what it grew by with the calls.

#include "../support/sockets.hpp"
#include "../support/spent.hpp"

#include <curl/curl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

namespace {

using steady_clock = std::chrono::steady_clock;

struct arguments {
    bench::calls_wanted calls;
    bool own_poll = false;
    const char* authorities = nullptr;
};

std::size_t drop(char*, std::size_t, std::size_t size, void*) {
    return size;
}

class client {
public:
    explicit client(const arguments& wanted) : wanted_{wanted}, multi_{curl_multi_init()} {
        const auto connections =
            static_cast<long>(std::min(wanted.calls.concurrency, bench::pool_connections));
        curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, connections);
        curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, connections);
        curl_multi_setopt(multi_, CURLMOPT_PIPELINING, long{CURLPIPE_NOTHING});
        if (!wanted.own_poll) {
            curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, on_socket);
            curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
            curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, on_timer);
            curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
        }
        const std::size_t handles = std::min(wanted.calls.count, wanted.calls.concurrency);
        for (std::size_t i = 0; i < handles; ++i) easy_.push_back(make_handle());
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client() {
        for (CURL* each : easy_) {
            curl_multi_remove_handle(multi_, each);
            curl_easy_cleanup(each);
        }
        curl_multi_cleanup(multi_);
    }

    void run() {
        for (CURL* each : easy_) start(each);
        while (ok_ + errors_ < wanted_.calls.count) {
            wanted_.own_poll ? turn_of_poll() : turn_of_epoll();
            take_results();
        }
    }

    std::size_t ok() const { return ok_; }
    std::size_t errors() const { return errors_; }

private:
    CURL* make_handle() const {
        CURL* const easy = curl_easy_init();
        curl_easy_setopt(easy, CURLOPT_URL, wanted_.calls.url);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_PROXY, "");  // else it reads the environment for each call
        if (wanted_.authorities != nullptr) {
            curl_easy_setopt(easy, CURLOPT_CAINFO, wanted_.authorities);
        }
        return easy;
    }

    void start(CURL* easy) {
        if (started_ == wanted_.calls.count) return;
        ++started_;
        curl_multi_add_handle(multi_, easy);
    }

    void take_results() {
        int left = 0;
        while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
            if (message->msg != CURLMSG_DONE) continue;
            CURL* const easy = message->easy_handle;
            const CURLcode result = message->data.result;
            long status = 0;
            curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
            if (result != CURLE_OK && errors_ == 0) {
                std::fprintf(stderr, "%s\n", curl_easy_strerror(result));
            }
            ++(result == CURLE_OK && status == 200 ? ok_ : errors_);
            curl_multi_remove_handle(multi_, easy);
            start(easy);
        }
    }

    void turn_of_poll() {
        curl_multi_perform(multi_, &running_);
        // A transfer that has just ended makes room for the next, which is not to wait.
        if (static_cast<std::size_t>(running_) == in_flight()) {
            curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
        }
    }

    std::size_t in_flight() const { return started_ - ok_ - errors_; }

    void turn_of_epoll() {
        epoll_event events[512];
        const int ready = epoll_wait(epoll_, events, 512, milliseconds_left());
        for (int i = 0; i < ready; ++i) {
            const std::uint32_t seen = events[i].events;
            const int what = ((seen & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                             ((seen & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                             ((seen & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
            curl_multi_socket_action(multi_, events[i].data.fd, what, &running_);
        }
        if (has_deadline_ && milliseconds_left() == 0) {
            has_deadline_ = false;
            curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running_);
        }
    }

    int milliseconds_left() const {
        if (!has_deadline_) return 1000;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline_ - steady_clock::now());
        return static_cast<int>(std::max<long long>(0, left.count()));
    }

    static int on_timer(CURLM*, long milliseconds, void* self) {
        auto& me = *static_cast<client*>(self);
        me.has_deadline_ = milliseconds >= 0;
        me.deadline_ = steady_clock::now() + std::chrono::milliseconds(milliseconds);
        return 0;
    }

    // A socket that libcurl knows has `this` assigned, one that it does not know yet a null.
    static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void* known) {
        auto& me = *static_cast<client*>(self);
        if (what == CURL_POLL_REMOVE) {
            epoll_ctl(me.epoll_, EPOLL_CTL_DEL, fd, nullptr);
            return 0;
        }
        epoll_event event{};
        event.events = ((what & CURL_POLL_IN) != 0 ? std::uint32_t{EPOLLIN} : 0U) |
                       ((what & CURL_POLL_OUT) != 0 ? std::uint32_t{EPOLLOUT} : 0U);
        event.data.fd = fd;
        epoll_ctl(me.epoll_, known != nullptr ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
        if (known == nullptr) curl_multi_assign(me.multi_, fd, self);
        return 0;
    }

    arguments wanted_;
    CURLM* multi_;
    std::vector<CURL*> easy_;
    int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    int running_ = 0;
    bool has_deadline_ = false;
    steady_clock::time_point deadline_;
    std::size_t started_ = 0;
    std::size_t ok_ = 0;
    std::size_t errors_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    arguments wanted{bench::read_calls_wanted(argc, argv, " [epoll|poll [CAFILE]]")};
    wanted.own_poll = argc > 4 && std::string_view(argv[4]) == "poll";
    if (argc > 5) wanted.authorities = argv[5];
    bench::raise_descriptor_limit();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    std::size_t ok = 0;
    std::size_t errors = 0;
    {
        client calls{wanted};
        const bench::growth since_now;
        calls.run();
        since_now.print();
        ok = calls.ok();
        errors = calls.errors();
    }
    curl_global_cleanup();
    return bench::report_calls(wanted.calls.count, ok, errors);
}
