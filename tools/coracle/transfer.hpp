#pragma once

#include "get_command.hpp"
#include "output_file.hpp"
#include "progress_display.hpp"
#include "request_body.hpp"
#include "transfer_orders.hpp"

#include <coracle/http/client.hpp>
#include <coracle/tls/sha256.hpp>

#include <optional>
#include <string>

namespace coracle::tool {

/// Prints "coracle: ..." where errors are wanted.
void complain(const get_settings& s, progress_display& display, const std::string& about);

/// The state that the transfers of a command share.
struct transfer_room {
    const get_settings& settings;
    const request_body& request;
    http::client& client;
    progress_display& display;
    bool interrupted = false;

    void complain(const std::string& about) const { tool::complain(settings, display, about); }
};

/// One URL, from the request to its file.
class transfer {
public:
    transfer(transfer_room& room, transfer_order order);

    /// Returns the exit code.
    task<int> run();

private:
    enum class next_step : std::uint8_t { over, receive, anew, unchanged, failed };

    /// One request and its response; gives the exit code. Of an output to go on with, the content
    /// from `from` on is requested, or from its end.
    task<int> ask(bool resume, std::optional<std::uint64_t> from = {});
    task<int> ask_in_time(bool resume, std::optional<std::uint64_t> from);
    task<int> receive(http::response& r);
    http::call make_call();
    void show_sending(http::call& c);
    bool gets_whole_files() const;
    bool may_go_on(const error& e) const;
    task<bool> wait_for_retry(unsigned tries);
    next_step place(const http::response& r, int& code);
    next_step place_rest(const http::response& r, int& code);
    void count_earlier();
    task<> store(std::string_view bytes);
    int finish(const http::response& r);
    int fail(const error& e);
    int fail(int code, const std::string& why);
    void add_head(const http::response& r);
    task<> show_earlier_head(const http::response& r);
    void show_earlier_heads(http::call& c);
    void print_timing(const http::response_info& info);
    void say_done(const http::response& r);
    int say_unchanged(const http::response& r);

    transfer_room& room_;
    transfer_order order_;
    output_file out_;
    transfer_progress progress_;
    std::optional<tls::sha256> digest_;
    time_point ends_ = time_point::max();
    std::uint64_t from_ = 0;  ///< the byte from which on content was requested
    bool is_sending_ = false;
    bool goes_on_ = false;  ///< what failed may be continued by another request
    /// The file has no begin of the content, with which a later request might go on.
    bool is_for_now_ = false;
    unsigned retries_ = 0;  ///< that were made
    std::string heads_;     ///< heads of responses that are still to be written
};

}  // namespace coracle::tool
