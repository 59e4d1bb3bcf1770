#include "transfer.hpp"

#include "settings.hpp"

#include <coracle/http/content_range.hpp>
#include <coracle/http/curlev.hpp>
#include <coracle/runtime/sleep.hpp>

#include <algorithm>
#include <cstdio>
#include <system_error>

namespace coracle::tool {
namespace {

std::string status_text(const http::response& r) {
    std::string text = std::to_string(static_cast<unsigned>(r.status()));
    const std::string_view reason = http::reason_phrase(r.status());
    return reason.empty() ? text : text + ' ' + std::string(reason);
}

/// What was under way when it failed.
std::string_view what_failed(const error& e) {
    switch (e.phase()) {
        case phase::resolve: return "cannot find the host: ";
        case phase::connect: return "cannot connect: ";
        case phase::proxy: return "the proxy does not connect: ";
        case phase::tls: return "TLS failed: ";
        case phase::send: return "cannot send: ";
        case phase::first_byte: return "no answer: ";
        case phase::receive: return "the answer broke off: ";
        default: return "";
    }
}

std::string explanation(const error& e) {
    std::string text(what_failed(e));
    if (e == std::errc::timed_out) {
        text += "a time limit passed (" + std::string(e.operation()) + ')';
        return text;
    }
    if (e.subject().ends_with("client_options.redirects")) return "too many redirects";
    text += e.code().message();
    // The library names the file, the key or the option.
    const bool of_a_file =
        e.phase() == phase::tls && e.code().category() == std::generic_category();
    const bool by_subject = of_a_file || e == errc::limit_exceeded || e == errc::unknown_option ||
                            e.code() == std::make_error_code(std::errc::invalid_argument);
    if (by_subject && !e.subject().empty()) text += ": " + std::string(e.subject());
    constexpr int not_trusted = 60;
    if (http::curlev_code(e) == not_trusted) {
        text += " (--cacert names authorities to trust, -k trusts anyone)";
    }
    return text;
}

int exit_code(const error& e) {
    const int code = http::curlev_code(e);
    return code > 0 ? code : get_usage;
}

}  // namespace

void complain(const get_settings& s, progress_display& display, const std::string& about) {
    if (s.silent && !s.show_error) return;
    display.say("coracle: " + printable(about) + '\n');
}

transfer::transfer(transfer_room& room, transfer_order order)
    : room_(room), order_(std::move(order)), out_(order_.output) {
    progress_.name = out_.is_stream() ? order_.shown : out_.path();
    const duration limit = room_.settings.client.total_timeout;
    if (limit > duration::zero()) ends_ = loop::current()->now() + limit;
}

int transfer::fail(int code, const std::string& why) {
    room_.complain(order_.shown + ": " + why);
    return code;
}

int transfer::fail(const error& e) {
    if (room_.interrupted) {
        const bool kept = !out_.is_stream() && out_.size() != 0;
        if (kept) {
            room_.complain(out_.part() + " has " + size_text(static_cast<double>(out_.size())) +
                           ": --continue goes on with it");
        }
        return get_interrupted;
    }
    return fail(exit_code(e), room_.settings.client.verbose ? e.message() : explanation(e));
}

http::call transfer::make_call(bool resume) {
    http::call c = room_.client.request(room_.request.method(), order_.url);
    room_.request.give_to(c);
    if (ends_ != time_point::max()) {
        // The limit is one for all requests of the transfer.
        const duration least = std::chrono::milliseconds(1);
        c.timeout(std::max(ends_ - loop::current()->now(), least));
    }
    if (resume && out_.size() != 0) {
        c.header("Range", "bytes=" + std::to_string(out_.size()) + '-');
        c.header("Accept-Encoding", "identity");
        const std::string validator = out_.validator();
        if (!validator.empty()) c.header("If-Range", validator);
    }
    return c;
}

/// Whether a request for the rest may bring what this answer did not.
bool transfer::may_go_on(const error& e) const {
    const get_settings& s = room_.settings;
    const bool gets_whole_files =
        room_.request.is_plain_get() && !room_.request.has_range() && !s.include_head;
    return gets_whole_files && !out_.is_stream() && !room_.interrupted &&
           e.phase() != phase::none && e != errc::limit_exceeded && e != errc::shutting_down;
}

/// What is in the file already, and counts for its checksum.
void transfer::count_earlier() {
    progress_.set_there(out_.size());
    progress_.earlier = out_.size();
    if (order_.checksum.empty()) return;
    digest_.emplace();
    out_.read([this](std::string_view bytes) { digest_->add(bytes); });
}

/// Where the answer to a request for the rest goes.
transfer::next_step transfer::place_rest(const http::response& r, int& code) {
    const auto status = static_cast<unsigned>(r.status());
    const auto range =
        http::parse_content_range(r.fields().get("Content-Range")).value_or(http::content_range());
    const std::uint64_t there = out_.size();
    const bool fits = range.first == there && !r.fields().contains("Content-Encoding") &&
                      !http::is_of_another(r, out_.validator());
    if (status == 206 && fits) {
        count_earlier();
        progress_.size = range.whole;
        return next_step::receive;
    }
    if (status == 416 && range.whole == there) {
        count_earlier();
        return next_step::over;
    }
    if (status == 206 || status == 416) {
        code = fail(get_range_error, "the server does not go on at byte " + std::to_string(there) +
                                         ": it answered " + status_text(r));
    } else {
        code = fail(get_http_error, "cannot go on: the server answered " + status_text(r));
    }
    return next_step::failed;
}

/// Decides by its head where an answer goes.
transfer::next_step transfer::place(const http::response& r, int& code) {
    const get_settings& s = room_.settings;
    if (s.fail && static_cast<unsigned>(r.status()) >= 400) {
        const bool ended = static_cast<unsigned>(r.status()) == 416 && out_.size() != 0;
        if (!ended) {
            code = fail(get_http_error, "the server answered " + status_text(r));
            return next_step::failed;
        }
    }
    const bool asked_for_rest = out_.size() != 0;
    if (asked_for_rest && r.status() != http::status::ok) return place_rest(r, code);
    out_.start_anew();
    out_.keep_validator(http::if_range_validator(r));
    progress_.set_there(0);
    progress_.earlier = 0;
    progress_.size = r.length();
    if (!order_.checksum.empty()) digest_.emplace();
    return next_step::receive;
}

task<> transfer::store(std::string_view bytes) {
    const bool first = progress_.there == 0;
    if (first && !order_.any_bytes && bytes.find('\0') != std::string_view::npos) {
        throw std::system_error(
            std::make_error_code(std::errc::operation_not_permitted),
            "the answer is no text: give it a file with -o FILE, or print it with -o -");
    }
    co_await out_.write(bytes);
    if (digest_) digest_->add(bytes);
    progress_.there += bytes.size();
}

task<> transfer::print_head(const http::response& r) {
    std::string head;
    const auto* info = r.info();
    if (info != nullptr) head += std::string(to_string(info->version)) + ' ';
    head += status_text(r) + "\r\n";
    for (const http::field& f : r.fields()) {
        head.append(f.name).append(": ").append(f.value).append("\r\n");
    }
    head += "\r\n";
    co_await out_.write(head);
}

void transfer::print_timing(const http::answer_info& info) {
    const http::call_timings& t = info.times;
    const std::pair<const char*, duration> rows[] = {
        {"had its turn", t.queued},
        {"found the host", t.resolved},
        {"connected", t.connected},
        {"through the proxy", t.tunnelled},
        {"TLS", t.secured},
        {"request sent", t.sent},
        {"answer began", t.first_byte},
        {"answer ended", t.ended},
    };
    std::string text = printable(order_.shown) + '\n';
    duration before{};
    for (const auto& [name, at] : rows) {
        if (at == duration::zero()) continue;
        char line[96];
        const auto ms = [](duration d) {
            return std::chrono::duration<double, std::milli>(d).count();
        };
        std::snprintf(line, sizeof line, "  %-18s %10.3f ms  +%.3f\n", name, ms(at),
                      ms(at - before));
        text += line;
        before = at;
    }
    const auto count = [&text](const char* name, std::uint64_t n) {
        text += std::string("  ") + name + ' ' + std::to_string(n);
    };
    count("attempts", info.attempts);
    count("redirects", info.redirects);
    count("sent", info.bytes_sent);
    count("received", info.bytes_received);
    text += info.reused ? "  connection used again\n" : "\n";
    room_.display.say(text);
}

void transfer::say_done(const http::response& r) {
    if (room_.settings.silent || out_.is_stream()) return;
    const duration took = r.info() != nullptr ? r.info()->times.ended : duration::zero();
    const double seconds = std::chrono::duration<double>(took).count();
    const auto came = static_cast<double>(progress_.there - progress_.earlier);
    std::string line =
        printable(out_.path()) + "  " + size_text(static_cast<double>(progress_.there));
    if (progress_.earlier != 0) line += " (" + size_text(came) + " of them now)";
    char time[32];
    std::snprintf(time, sizeof time, " in %.1f s", seconds);
    line += time;
    if (seconds > 0) line += ", " + size_text(came / seconds) + "/s";
    if (!r.ok() && static_cast<unsigned>(r.status()) != 416) line += "; " + status_text(r);
    room_.display.say(line + '\n');
}

int transfer::finish(const http::response& r) {
    if (room_.settings.timing && r.info() != nullptr) print_timing(*r.info());
    if (digest_) {
        const std::string is = digest_->finish();
        if (is != order_.checksum) {
            out_.discard();
            return fail(get_wrong_checksum, "the checksum is " + is + ", not " + order_.checksum);
        }
    }
    out_.complete();
    say_done(r);
    return get_ok;
}

task<int> transfer::receive(http::response& r) {
    for (;;) {
        auto reading = r.read();
        const auto piece = co_await as_result(reading);
        if (!piece) {
            goes_on_ = may_go_on(piece.error());
            co_return fail(piece.error());
        }
        if (piece->empty()) break;
        co_await store(*piece);
    }
    // A part may end before the whole does.
    if (progress_.earlier == 0 || !progress_.size || *progress_.size == progress_.there) {
        co_return get_ok;
    }
    const error early(errc::unexpected_end, "get", phase::receive);
    goes_on_ = may_go_on(early);
    co_return fail(early);
}

task<int> transfer::ask(bool resume) {
    if (resume) out_.open_to_resume();
    http::call c = make_call(resume);
    auto r = co_await as_result(c);
    if (!r) co_return fail(r.error());
    int code = get_ok;
    const next_step step = place(*r, code);
    if (step == next_step::failed) co_return code;
    if (step == next_step::receive) {
        const get_settings& s = room_.settings;
        if ((s.include_head || s.head) && progress_.there == 0) co_await print_head(*r);
        code = co_await receive(*r);
        if (code != get_ok) co_return code;
    }
    co_return finish(*r);
}

/// False when there is no time for another request.
task<bool> transfer::wait_for_retry(unsigned tries) {
    const http::retry_options& retry = room_.settings.client.retry;
    duration delay = retry.delay;
    for (unsigned i = 0; i != tries && delay < retry.longest_delay; ++i) delay *= 2;
    delay = std::min(delay, retry.longest_delay);
    if (delay >= ends_ - loop::current()->now()) co_return false;
    auto sleeping = sleep_for(delay);
    const auto slept = co_await as_result(sleeping);
    co_return slept.has_value();
}

task<int> transfer::run() {
    room_.display.begin(progress_, loop::current()->now());
    int code = get_ok;
    for (unsigned tries = 0;; ++tries) {
        goes_on_ = false;
        try {
            code = co_await ask(room_.settings.resume || tries != 0);
        } catch (const exception& e) {
            code = fail(e.error());
        } catch (const std::system_error& e) {
            code = fail(get_write_error, e.what());
        }
        if (!goes_on_ || tries == room_.settings.client.retry.retries) break;
        const bool again = co_await wait_for_retry(tries);
        if (!again) break;
    }
    room_.display.end(progress_);
    co_return code;
}

}  // namespace coracle::tool
