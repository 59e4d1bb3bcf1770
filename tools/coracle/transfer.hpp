#pragma once

#include "get_command.hpp"
#include "output_file.hpp"
#include "progress_display.hpp"
#include "request_body.hpp"

#include <coracle/http/client.hpp>
#include <coracle/tls/sha256.hpp>

#include <optional>
#include <string>

namespace coracle::tool {

/// Prints "coracle: ..." where errors are wanted.
void complain(const get_settings& s, progress_display& display, const std::string& about);

/// What the transfers of a command have in common.
struct transfer_room {
    const get_settings& settings;
    const request_body& request;
    http::client& client;
    progress_display& display;
    bool interrupted = false;

    void complain(const std::string& about) const { tool::complain(settings, display, about); }
};

/// What one URL is asked for as.
struct transfer_order {
    std::string url;
    std::string shown;      ///< the URL without user and password
    std::string output;     ///< a path, or "-"
    std::string checksum;   ///< empty: any
    bool any_bytes = true;  ///< what is no text may go to a terminal
};

/// One URL, from the request to its file.
class transfer {
public:
    transfer(transfer_room& room, transfer_order order);

    /// Gives the exit code.
    task<int> run();

private:
    enum class next_step : std::uint8_t { over, receive, failed };

    /// One request and its answer; gives the exit code.
    task<int> ask(bool resume);
    task<int> receive(http::response& r);
    http::call make_call(bool resume);
    bool may_go_on(const error& e) const;
    task<bool> wait_for_retry(unsigned tries);
    next_step place(const http::response& r, int& code);
    next_step place_rest(const http::response& r, int& code);
    void count_earlier();
    task<> store(std::string_view bytes);
    int finish(const http::response& r);
    int fail(const error& e);
    int fail(int code, const std::string& why);
    task<> print_head(const http::response& r);
    void print_timing(const http::answer_info& info);
    void say_done(const http::response& r);

    transfer_room& room_;
    transfer_order order_;
    output_file out_;
    transfer_progress progress_;
    std::optional<tls::sha256> digest_;
    time_point ends_ = time_point::max();
    bool goes_on_ = false;  ///< what failed may be continued by another request
};

}  // namespace coracle::tool
